import { createHash } from 'node:crypto';
import { isEnded } from '@runledger/contracts/fold/run';
import { inputFileOf } from '../clients/client-context.ts';
import type { Check } from '../evidence/evidence.ts';
import { factsUntilEnd, inputFileRequestOf, lastOf, type LoggedRun } from '../evidence/logged-run.ts';

const guarantee = 'A run finds the file that its client uploaded for it, and no other one.';

/** Programs put out the SHA-256 of each file that they find. */
export const inputFiles: Check = ({ runs, org_id }) =>
  [...runs].flatMap(([run, logged]) => {
    if (logged.key.org_id !== org_id) return [];
    const message = wrongIn(logged);
    return message === undefined ? [] : [{ guarantee, run, message }];
  });

const wrongIn = (logged: LoggedRun): string | undefined => {
  const last = lastOf(logged);
  if (last && isEnded(last) && last.error?.kind === 'input_unavailable')
    return `It ended without its file: ${last.error.message}`;
  const end = factsUntilEnd(logged).at(-1)?.event;
  if (end?.type !== 'RunSucceeded' || end.data.outputs === null) return undefined;
  const found = end.data.outputs
    .flatMap(({ data }) => data['text'] ?? [])
    .filter((item) => typeof item === 'string')
    .filter((text) => text.startsWith('input '));
  if (last?.request.inputs === null) return undefined;
  const request = inputFileRequestOf(logged);
  const expected = request === undefined ? [] : [`input ${sha256Of(JSON.stringify(inputFileOf(request)))}`];
  return found.join() === expected.join()
    ? undefined
    : `Its program found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}.`;
};

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');
