import { counted } from '@runledger/contracts/counted';
import type { SliceFact, SliceGap, SliceHeader, SliceLine } from '@runledger/contracts/slices/slice';

/** More are counted. */
const MOST_SHOWN = 20;

export interface SliceSummary {
  readonly note: (line: SliceLine) => void;
  /** What was captured, and what the log no longer holds of it. `bytes`: of the file. */
  readonly sentences: (bytes: number) => string[];
}

/** Notes the lines of a slice as they are written, in bounded memory. */
export const sliceSummary = (): SliceSummary => {
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
  { from, to, lead_in_from }: SliceHeader,
  counts: Readonly<Record<SliceFact['stream'], number>>,
  bytes: number,
): string => {
  const facts = `${counted(counts.RUNS, 'fact')} of runs, ${counted(counts.FLEET, 'fact')} of executors and ${counted(counts.DELIVERY_ATTEMPTS, 'outcome')} of deliveries`;
  const before = lead_in_from < from ? ', and what came before' : '';
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
    ? 'The log holds no fact of such a run of that time. A run counts for a deployment when its first fact is in the slice too: --lead-in reaches further back.'
    : `The log holds no fact of a run of that time. It begins at position ${RUNS.first_sequence}: runledger history of its oldest run tells since when.`;

/** Why a run waited is in the facts of others. */
const competitorsText = ({ runs, from, to }: SliceHeader): string[] =>
  runs.length === 0 ? [] : [`Who competed for slots meanwhile: runledger capture --from ${from} --to ${to}`];
