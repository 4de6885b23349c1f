import { halfOf, isolations } from '../../fixtures/isolations.ts';
import { describeRunner } from '../runner-conformance.ts';
import { bareProgram, openResidentProgram } from './run-a-resident-program.ts';

for (const [where, isolation] of halfOf(isolations, 1)) {
  describeRunner(`the runner of resident programs ${where}`, async ({ graceMs }) => {
    const start = await openResidentProgram(bareProgram(), { isolation, graceMs });
    return { start: async (workload, options) => start(workload, options) };
  });
}
