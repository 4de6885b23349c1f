import type { RecordedCase } from './recordings/recorded-cases.ts';

/**
 * How the prompts of the recordings ended, in the order in which they were sent: as the server's messages say and as its history
 * says, where the client read it. A case that is not here has only prompts that succeeded.
 */
const RECORDED_ENDS: Readonly<Record<string, readonly string[]>> = {
  'c5-cached': ['succeeded', 'succeeded', 'succeeded, unheard', 'succeeded', 'succeeded', 'succeeded'],
  'c6-cached-errors': ['failed at 3: ValueError', 'failed at 3: ValueError'],
  'e1-exception': ['failed at 3: ValueError'],
  'e2-long-message': ['failed at 3: RuntimeError'],
  'e3-out-of-memory': ['failed at 3: torch.OutOfMemoryError', 'succeeded'],
  'e6-save-outside': ['failed at 2: Exception'],
  'v0.27.0 e7-input-file-gone': ['succeeded', 'failed at 1: av.error.FileNotFoundError'],
  'v0.3.64 e7-input-file-gone': ['succeeded', 'failed at 1: FileNotFoundError'],
  'f1-interrupt': ['interrupted'],
  'f2-interrupt-by-id': ['interrupted', 'succeeded'],
  'f3-interrupt-hits-another': ['interrupted', 'succeeded'],
  'f5-interrupt-a-deaf-node': ['interrupted'],
  'f6-cancel-pending': ['succeeded', 'no end', 'no end', 'no end'],
  'f7-interrupt-by-no-client': ['interrupted'],
  // An interrupt right after the start is lost in one version at the second try, and in the other at the seventh.
  'v0.27.0 f8-interrupt-lost': ['interrupted', 'succeeded'],
  'v0.3.64 f8-interrupt-lost': [...Array.from({ length: 6 }, () => 'interrupted'), 'succeeded'],
  'g2-load': [...Array.from({ length: 5 }, () => 'succeeded'), 'failed at 1: PIL.UnidentifiedImageError'],
  'h3-reconnect-too-late': ['succeeded, unheard'],
  'h4-second-socket-same-id': ['succeeded, unheard', 'no end', 'succeeded'],
  'h5-no-client-id': ['succeeded, unheard'],
  'h8-client-that-does-not-read': ['no end', 'succeeded'],
  'v0.27.0 i2-jobs': ['succeeded', 'failed at 3: ValueError', 'interrupted', 'no end', 'no end'],
  'v0.3.64 i2-jobs': ['succeeded', 'failed at 3: ValueError', 'interrupted', 'succeeded', 'succeeded'],
  'j1-killed': ['succeeded', 'no end', 'succeeded', 'succeeded'],
  'j2-terminated': ['no end'],
  'j3-node-ends-process': ['no end'],
  'j4-worker-dies': ['no end', 'no end'],
  'j5-publisher-dies': ['no end'],
  'j6-tie-in-the-queue': ['succeeded', 'no end'],
  'l-external-inputs': [
    'succeeded',
    'succeeded',
    'succeeded',
    'succeeded',
    'failed at 6: urllib.error.URLError',
  ],
};

export const expectedEnds = ({ version, name }: RecordedCase, prompts: number): readonly string[] =>
  RECORDED_ENDS[`${version} ${name}`] ??
  RECORDED_ENDS[name] ??
  Array.from({ length: prompts }, () => 'succeeded');

export const namedEnds = Object.keys(RECORDED_ENDS);
