import { describeRunner } from '../runners/runner-conformance.ts';
import { SCRIPTS } from '../runners/program/shell-scripts.ts';
import { archiveOf, manifestOf, openCode, codeFetcherOf } from '../code/versions.ts';

const fileOf = (workload: string): string => `${workload.replaceAll(' ', '-')}.sh`;

describeRunner('the runner of code', async ({ graceMs }) => {
  const files = Object.entries(SCRIPTS).map(
    ([name, script]) => [fileOf(name), `#!/bin/sh\n${script}\n`] as const,
  );
  const archive = await archiveOf(files);
  const fetchCode = codeFetcherOf(archive);
  const { start } = await openCode({}, { graceMs });
  // Its runs then have nothing to say of preparing it.
  await start(manifestOf(archive, { command: ['true'] }), { fetchCode, nth: -1 }).result;
  return {
    start: async (workload, options) =>
      start(manifestOf(archive, { command: [`./${fileOf(workload)}`] }), { ...options, fetchCode }),
  };
});
