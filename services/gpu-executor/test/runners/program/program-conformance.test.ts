import { describeRunner } from '../runner-conformance.ts';
import { halfOf, isolations } from '../../fixtures/isolations.ts';
import { openPrograms } from './run-a-program.ts';
import { SCRIPTS } from './shell-scripts.ts';

for (const [where, isolation] of halfOf(isolations, 0)) {
  describeRunner(`the program runner ${where}`, async ({ graceMs }) => {
    const start = await openPrograms({ isolation, graceMs });
    return { start: async (workload, options) => start(SCRIPTS[workload], options) };
  });
}
