#!/bin/sh
# A report in a browser, at the width of a desk and of a phone: nothing sticks out sideways, and the browser
# has nothing to say.  Skipped without Chromium.  Usage: test_report_look.sh MTIP MPIRUN SOURCE_DIR [DIRECTORY]
# DIRECTORY: where the screenshots stay.
mtip=$1 mpirun=$2 source=$3 keep=$4
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo 'skipped: there is no Chromium'
  exit 77
}
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
say() { echo "$*"; failed=1; }
cat >a.yaml <<END
molecule: {file: $source/tests/data/2LYZ.pdb, b_factor: 30}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 60, photons_per_image: 1e4, output: images.h5}
data: {file: images.h5}
grid: {size: 15, diameter: 45}
slice: {references: 120, final_references: 120}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 5, hio: 5}
run: {generations: 4, final_generations: 2, attempts: 2, directory: run, deterministic: true}
END
"$mtip" -q simulate a.yaml 2>/dev/null || say 'cannot simulate'
"$mpirun" --oversubscribe --bind-to none -n 2 "$mtip" -q reconstruct a.yaml >out 2>&1 || say "no run: $(cat out)"
"$mtip" report run >/dev/null || say 'no report'
# A page that shows the report in a frame of each width, and writes down how wide its contents are.
cat >frames.html <<'END'
<!DOCTYPE html><html><body style="margin:0">
<iframe id="w1280" src="run/report.html" style="width:1280px;height:800px;border:0"></iframe>
<iframe id="w390" src="run/report.html" style="width:390px;height:800px;border:0"></iframe>
<script>
window.onload = function () {
  for (const frame of document.querySelectorAll('iframe')) {
    const root = frame.contentDocument.documentElement;
    const small = [...root.querySelectorAll('img')].filter(i => !(i.naturalWidth > 0)).length;
    document.body.append(frame.id + ': ' + root.scrollWidth + ' pixels wide, ' + small + ' broken pictures. ');
  }
};
</script></body></html>
END
look() {
  "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
    --user-data-dir="$work/profile" "$@" 2>>noise
}
look --window-size=1700,900 --dump-dom "file://$work/frames.html" >dom || say "no browser: $(cat noise)"
for width in 1280 390; do
  grep -q "w$width: $width pixels wide, 0 broken pictures" dom ||
    say "at $width: $(grep -o "w$width: [^.]*" dom | tail -n 1)"
done
# Screenshots; a phone's is a frame in a window, which browsers do not make so narrow.
echo '<!DOCTYPE html><body style="margin:0"><iframe src="run/report.html" style="width:390px;height:6000px;border:0"></iframe></body>' >phone.html
look --window-size=1280,3200 --screenshot="$work/desk.png" "file://$work/run/report.html"
look --window-size=500,6000 --screenshot="$work/phone.png" "file://$work/phone.html"
for name in desk phone; do
  [ -s $name.png ] && [ "$(wc -c <$name.png)" -gt 20000 ] || say "no screenshot: $name"
done
[ -z "$keep" ] || cp desk.png phone.png "$keep"
exit $failed
