// Plan once, run often: the plan is data that can be looked at, stored as JSON, and run on any
// operands of the same shape.
#include <tessera/tessera.hpp>

#include <cstdio>
#include <vector>

int main() {
  constexpr std::int64_t m = 256, n = 384, k = 1024;
  std::vector<float> a(m * k), b(k * n, 1.0f), c(m * n);
  const std::vector<tessera::Operands> operands = {{tessera::row_major(a.data(), m, k),
                                                    tessera::row_major(b.data(), k, n),
                                                    tessera::row_major(c.data(), m, n),
                                                    {}}};

  const tessera::Problem problem = tessera::describe(operands, 1.0, 0.0, {});
  tessera::PlanOptions options;
  options.schedule = tessera::ScheduleKind::stream_k;  // the planner chooses what is not set
  options.workers = 7;  // whatever the number of threads, seven workers give the same bits
  const tessera::Plan plan = tessera::make_plan(problem, tessera::host_machine(), options);
  std::printf("%s with tiles of %dx%dx%d: %lld tiles, %lld iterations, %zu bytes of workspace\n",
              plan.kernel.c_str(), plan.tile.block_m, plan.tile.block_n, plan.tile.block_k,
              static_cast<long long>(plan.decomposition.tiles),
              static_cast<long long>(plan.decomposition.iterations),
              tessera::workspace_bytes(plan));

  const tessera::Plan stored = tessera::plan_from_json(tessera::to_json(plan));
  for (int call = 1; call <= 3; ++call) {
    a.assign(a.size(), static_cast<float>(call));
    tessera::run(stored, operands);
    if (c.front() != static_cast<float>(call * k) || c.back() != c.front()) return 1;
  }
  std::printf("three runs of one plan\n");
  return 0;
}
