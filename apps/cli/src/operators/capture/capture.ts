import { createHmac, randomBytes } from 'node:crypto';
import { createZstdCompress } from 'node:zlib';
import type { SliceContent } from '@runledger/contracts/slices/content';
import type { SliceLine } from '@runledger/contracts/slices/slice';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { SliceRefused } from '@runledger/event-log/slices/slice-refused';
import { takeSlice } from '@runledger/event-log/slices/take-slice';
import { sleep } from '@runledger/resilience/abort';
import { CommandError } from '../../output/command-error.ts';
import type { Screen } from '../../output/screen.ts';
import { writeOutput, type OutputTarget } from '../../output/write-output.ts';
import type { Capture } from './capture-options.ts';
import { sliceSummary } from './slice-summary.ts';

interface CaptureContext {
  readonly log: EventLog;
  readonly screen: Pick<Screen, 'hint'>;
  readonly target: OutputTarget;
  readonly signal: AbortSignal;
}

/** Writes facts to a compressed file, without the content that is not kept, and says what the log no longer holds of them. */
export const capture = async (
  { log, screen, target, signal }: CaptureContext,
  { rate, ...wanted }: Capture & { readonly content: SliceContent },
): Promise<void> => {
  const summary = sliceSummary();
  const slice = takeSlice(log, {
    ...wanted,
    now: new Date().toISOString(),
    pseudonym: newPseudonym(),
    pace: atRate(rate, signal),
  });
  const noted = async function* (): AsyncGenerator<string> {
    for await (const lines of slice) {
      for (const line of lines) summary.note(line);
      yield textOf(lines);
    }
  };
  try {
    const bytes = await writeOutput(target, noted(), { signal, through: createZstdCompress() });
    for (const sentence of summary.sentences(bytes)) screen.hint(sentence);
  } catch (error) {
    if (error instanceof SliceRefused) throw new CommandError(error.message);
    throw error;
  }
};

const textOf = (lines: readonly SliceLine[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');

/** Nobody can say what the text was: the key of the hash is forgotten. */
const newPseudonym = (): ((text: string) => string) => {
  const key = randomBytes(32);
  return (text) => createHmac('sha256', key).update(text).digest('hex').slice(0, 32);
};

/** Waits whenever more messages were read than the time since its beginning allows. */
const atRate = (rate: number, signal: AbortSignal): ((messages: number) => Promise<void>) => {
  const begun = performance.now();
  let read = 0;
  return async (messages) => {
    read += messages;
    const earlyMs = (read / rate) * 1_000 - (performance.now() - begun);
    if (earlyMs > 1) await sleep(earlyMs, signal);
  };
};
