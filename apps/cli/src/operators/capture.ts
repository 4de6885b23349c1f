import { createHmac, randomBytes } from 'node:crypto';
import { createZstdCompress } from 'node:zlib';
import {
  CONTENT_KINDS,
  MAX_MASKS,
  Masks,
  type SliceContent,
  type ContentKind,
  type SliceLine,
  type SliceFact,
  type SliceGap,
  type SliceHeader,
} from '@runledger/contracts/slices/slice';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { SliceRefused } from '@runledger/event-log/slices/slice-sources';
import { captureSlice } from '@runledger/event-log/slices/capture-slice';
import { sleep } from '@runledger/resilience/abort';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { counted } from '@runledger/contracts/events/fact-sentence';
import { CommandError, plain } from '../command/command-error.ts';
import type { Screen } from '../command/screen.ts';
import { writeOutput, type OutputTarget } from '../command/write-output.ts';
import type { Capture } from './capture-options.ts';
import type { ReadJsonFile } from '../command/option-values.ts';

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
  const slice = captureSlice(log, {
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

export interface ContentOptions {
  readonly keep?: string;
  readonly mask?: string;
}

// The keys of a literal are its names.
const KINDS = Object.keys(CONTENT_KINDS) as ContentKind[];
const isKind = (word: string): word is ContentKind => Object.hasOwn(CONTENT_KINDS, word);

const KINDS_IN_WORDS = KINDS.map((kind) => `\n  ${kind.padEnd(13)} ${CONTENT_KINDS[kind]}`).join('');

/** Which content a slice has. @throws {CommandError} */
export const contentOf = async (
  { keep = '', mask }: ContentOptions,
  readJsonFile: ReadJsonFile,
): Promise<SliceContent> => {
  const kept = kindsOf(keep);
  if (mask === undefined) return { kept, masked: {} };
  const masked = masksOf(mask, await readJsonFile('--mask', mask));
  for (const kind of ['inputs', 'outputs'] as const)
    if ((masked[kind] ?? []).length > 0 && !kept.includes(kind))
      throw new CommandError(
        `--mask ${plain(mask)} replaces parts of ${kind}, which this slice does not have at all. Add --keep ${kind}, or leave them out of the file.`,
      );
  return { kept, masked };
};

const kindsOf = (keep: string): ContentKind[] => {
  const words = keep
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 1 && words[0] === 'all') return [...KINDS];
  const unknown = words.find((word) => !isKind(word));
  if (unknown !== undefined)
    throw new CommandError(
      `--keep ${plain(unknown)} is no kind of content. Name kinds with commas, or "all" alone:${KINDS_IN_WORDS}`,
    );
  return KINDS.filter((kind) => words.includes(kind));
};

const MasksCheck = compiledSchema(Masks);

const masksOf = (file: string, value: unknown): Masks => {
  if (MasksCheck.Check(value)) return value;
  const [first] = MasksCheck.Errors(value);
  throw new CommandError(
    `--mask ${plain(file)}: ${plain(`${first?.instancePath ?? ''} ${first?.message ?? ''}`.trim())}. It must be as {"inputs": ["/prompt"], "outputs": ["/data/text", "/node_meta/title"]}: JSON pointers, at most ${MAX_MASKS} of each, ` +
      'those of outputs to /data, a kind of it or an item of that, or into /node_meta. A step * is every one.',
  );
};

/** More are counted. */
const MOST_SHOWN = 20;

interface SliceSummary {
  readonly note: (line: SliceLine) => void;
  /** What was captured, and what the log no longer holds of it. `bytes`: of the file. */
  readonly sentences: (bytes: number) => string[];
}

/** Notes the lines of a slice as they are written, in bounded memory. */
const sliceSummary = (): SliceSummary => {
  const counts = { RUNS: 0, FLEET: 0, DELIVERY_ATTEMPTS: 0 };
  const gaps: SliceGap[] = [];
  let moreGaps = 0;
  let header: SliceHeader | undefined;
  let first: SliceFact | undefined;
  const noteGap = (gap: SliceGap): void => {
    // Each delivery replaces its own states: only what is gone from the beginning is worth a word.
    if (gap.stream === 'DELIVERY_ATTEMPTS' && gap.first_sequence > 1) return;
    if (gaps.length < MOST_SHOWN) gaps.push(gap);
    else moreGaps += 1;
  };
  return {
    note: (line) => {
      if (line.kind === 'header') header = line;
      else if (line.kind === 'gap') noteGap(line);
      else if (line.kind === 'fact') {
        counts[line.stream] += 1;
        if (line.stream === 'RUNS') first ??= line;
      }
    },
    sentences: (bytes) => {
      if (!header) return [];
      const more = moreGaps === 0 ? [] : [`There are ${moreGaps} more gaps, which the slice names.`];
      const isCut = first && gaps.some(({ stream }) => stream === 'RUNS');
      return [
        capturedText(header, counts, bytes),
        ...contentText(header),
        ...gaps.map(gapText),
        ...more,
        ...(isCut ? [`The first fact of a run in the slice is of ${first?.time}.`] : []),
        ...(counts.RUNS === 0 ? [nothingText(header)] : competitorsText(header)),
      ];
    },
  };
};

const capturedText = (
  { from, to, warm_up_from }: SliceHeader,
  counts: Readonly<Record<SliceFact['stream'], number>>,
  bytes: number,
): string => {
  const facts = `${counted(counts.RUNS, 'fact')} of runs, ${counted(counts.FLEET, 'fact')} of executors and ${counted(counts.DELIVERY_ATTEMPTS, 'outcome')} of deliveries`;
  const before = warm_up_from < from ? ', and what came before' : '';
  return `Captured ${facts} from ${from} to ${to}${before}, in ${counted(bytes, 'byte')}.`;
};

const contentText = ({ content: { kept, masked } }: SliceHeader): string[] => {
  if (kept.length === 0) return [];
  const isMasked = Object.values(masked).some((pointers) => pointers.length > 0);
  const parts = isMasked ? ', but what the masks name' : '';
  return [`It holds what clients and programs wrote: ${kept.join(', ')}${parts}. Keep it as secret as that.`];
};

const gapText = ({ stream, first_sequence, last_sequence }: SliceGap): string => {
  const gone = `The log no longer holds positions ${first_sequence} to ${last_sequence} of ${stream}`;
  switch (stream) {
    case 'RUNS':
      return `${gone}, which may be of that time: facts expire.`;
    case 'FLEET':
      return `${gone}: executors that registered then and never again are not in the slice.`;
    case 'DELIVERY_ATTEMPTS':
      return `${gone}, which may be of that time: they expire, and a delivery replaces its own states.`;
  }
};

const nothingText = ({ organisations, deployments, streams: { RUNS } }: SliceHeader): string =>
  organisations.length + deployments.length > 0
    ? 'The log holds no fact of such a run of that time. A run counts for a deployment when its first fact is in the slice too: --warm-up reaches further back.'
    : `The log holds no fact of a run of that time. It begins at position ${RUNS.first_sequence}: runledger history of its oldest run tells since when.`;

/** Why a run waited is in the facts of others. */
const competitorsText = ({ runs, from, to }: SliceHeader): string[] =>
  runs.length === 0 ? [] : [`Who competed for slots meanwhile: runledger capture --from ${from} --to ${to}`];
