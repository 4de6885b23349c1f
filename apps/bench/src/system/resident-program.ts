import { fileURLToPath } from 'node:url';

/** The program of the runs: `EXECUTOR_PROGRAMS`. */
export const PROGRAM = 'nothing';

/** It computes nothing: three updates of its progress, and a text of 1,000 characters that cannot be compressed. */
export const RESIDENT_PROGRAM = {
  [PROGRAM]: {
    command: process.execPath,
    args: [fileURLToPath(new URL('nothing.mjs', import.meta.url))],
    mode: 'resident',
    readable: [fileURLToPath(new URL('.', import.meta.url))],
  },
};
