import { containments } from '../program/run-a-program.ts';
import { describeRunner } from '../runner-conformance.ts';
import { bareProgram, openResidentProgram } from './run-a-resident-program.ts';

for (const [where, containment] of containments) {
  describeRunner(`the runner of resident programs ${where}`, async ({ graceMs }) => {
    const start = await openResidentProgram(bareProgram(), { containment, graceMs });
    return { start: async (workload, options) => start(workload, options) };
  });
}
