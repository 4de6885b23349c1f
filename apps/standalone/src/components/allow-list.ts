import { fileURLToPath } from 'node:url';
import { programFile } from '@runledger/service-kit/program-file';
import { SAMPLE_PROGRAM } from '../records/sample-records.ts';

/** What the source of the sample imports, below the folder of the repository. */
const SAMPLE_READS = ['apps/standalone', 'node_modules', 'packages/contracts'];

/** The sample and the given programs. Invalid JSON goes to the executor unchanged, which explains the problem. */
export const allowList = (programs: string | undefined, env: NodeJS.ProcessEnv): string => {
  const sample = fileURLToPath(new URL('../sample/render-image.ts', import.meta.url));
  const file = programFile(sample, env);
  const ours = {
    [SAMPLE_PROGRAM]: {
      command: process.execPath,
      args: [file],
      readable:
        file === sample
          ? SAMPLE_READS.map((path) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url)))
          : [file],
    },
  };
  if (programs === undefined) return JSON.stringify(ours);
  try {
    const theirs: unknown = JSON.parse(programs);
    if (typeof theirs !== 'object' || theirs === null || Array.isArray(theirs)) return programs;
    return JSON.stringify({ ...ours, ...theirs });
  } catch {
    return programs;
  }
};
