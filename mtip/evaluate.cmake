# Comparing maps and orientations.
target_sources(stages PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/align.c
  ${CMAKE_CURRENT_LIST_DIR}/align_refine.c
  ${CMAKE_CURRENT_LIST_DIR}/align_search.c
  ${CMAKE_CURRENT_LIST_DIR}/align_shift.c
  ${CMAKE_CURRENT_LIST_DIR}/ball.c
  ${CMAKE_CURRENT_LIST_DIR}/evaluate.c
  ${CMAKE_CURRENT_LIST_DIR}/fsc.c
  ${CMAKE_CURRENT_LIST_DIR}/reference.c
  ${CMAKE_CURRENT_LIST_DIR}/sampler.c
)
target_link_libraries(stages PUBLIC nufft)
