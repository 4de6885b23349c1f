/** A stored message, as far as a comparison needs it. */
export interface ComparedMessage {
  readonly sequence: number;
  readonly subject: string;
  /** Of the sequence, time, subject, headers and body. */
  readonly hash: string;
  /** Milliseconds since 1970: from then on the broker may remove it by itself. Undefined: it stays. */
  readonly endsAtMs: number | undefined;
  /** The broker wrote it by itself: a timer that fired, or the marker of a key that expired. */
  readonly isByBroker: boolean;
}

export type Side = 'source' | 'target';

interface Missing {
  readonly kind: 'missing';
  readonly sequence: number;
  readonly subject: string;
  /** The side that does not have it. */
  readonly at: Side;
}

export type Difference =
  | Missing
  | { readonly kind: 'other_content'; readonly sequence: number; readonly subject: string }
  | { readonly kind: 'written'; readonly sequence: number; readonly subject: string; readonly at: Side };

export interface Comparison {
  /** Messages that both have. */
  readonly messages: number;
  /** Of these; 0 without any. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** Messages that the broker removed by itself at one of the two since the copy was made. */
  readonly ended: number;
  readonly differences: number;
  /** The one with the lowest sequence. */
  readonly first: Difference | undefined;
}

interface ComparisonOptions {
  /** The last sequence of the copy. What follows is new. */
  readonly last: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called in order with what each side holds of the same message. */
  readonly onBoth: (source: ComparedMessage, target: ComparedMessage) => void;
}

/** The clocks of brokers differ, and what has ended is removed some seconds later. */
const SLACK_MS = 60_000;
/** Missing messages that may turn out to have been replaced: a bound on memory. */
const MAX_UNDECIDED = 100_000;

/**
 * Compares all messages of a stream with all messages of its copy, each in the order of the sequences, in bounded memory. Both may
 * go on meanwhile by themselves: messages expire, timers fire. Everything else is a difference.
 */
export const compareCopies = async (
  source: AsyncIterable<ComparedMessage>,
  target: AsyncIterable<ComparedMessage>,
  { last, now, onBoth }: ComparisonOptions,
): Promise<Comparison> => {
  const undecided: Missing[] = [];
  const replaced: Record<Side, Set<string>> = { source: new Set(), target: new Set() };
  const found = differences();
  let [messages, firstSequence, lastSequence, ended] = [0, 0, 0, 0];

  const only = (message: ComparedMessage, has: Side): void => {
    const { sequence, subject, isByBroker, endsAtMs = Infinity } = message;
    if (sequence > last) {
      if (isByBroker) replaced[has].add(subject);
      else found.add({ kind: 'written', sequence, subject, at: has });
    } else if (endsAtMs <= now() + SLACK_MS) ended += 1;
    else {
      const missing: Missing = {
        kind: 'missing',
        sequence,
        subject,
        at: has === 'source' ? 'target' : 'source',
      };
      if (undecided.length < MAX_UNDECIDED) undecided.push(missing);
      else found.add(missing);
    }
  };
  const both = (ofSource: ComparedMessage, ofTarget: ComparedMessage): void => {
    const { sequence, subject } = ofSource;
    if (sequence > last) {
      only(ofSource, 'source');
      only(ofTarget, 'target');
      return;
    }
    messages += 1;
    firstSequence ||= sequence;
    lastSequence = sequence;
    onBoth(ofSource, ofTarget);
    if (ofSource.hash !== ofTarget.hash) found.add({ kind: 'other_content', sequence, subject });
  };

  for await (const { ofSource, ofTarget } of pairs(source, target)) {
    if (ofSource && ofTarget) both(ofSource, ofTarget);
    else if (ofSource) only(ofSource, 'source');
    else if (ofTarget) only(ofTarget, 'target');
  }
  // A timer that fired has replaced the message that was last under its subject.
  for (const missing of undecided) {
    if (replaced[missing.at].has(missing.subject)) ended += 1;
    else found.add(missing);
  }
  return { messages, firstSequence, lastSequence, ended, ...found.result() };
};

const differences = (): {
  readonly add: (difference: Difference) => void;
  readonly result: () => Pick<Comparison, 'differences' | 'first'>;
} => {
  let count = 0;
  let first: Difference | undefined;
  return {
    add: (difference) => {
      count += 1;
      if (first === undefined || difference.sequence < first.sequence) first = difference;
    },
    result: () => ({ differences: count, first }),
  };
};

interface Pair {
  readonly ofSource?: ComparedMessage;
  readonly ofTarget?: ComparedMessage;
}

/** Everything that either has, in the order of the sequences. */
async function* pairs(
  source: AsyncIterable<ComparedMessage>,
  target: AsyncIterable<ComparedMessage>,
): AsyncGenerator<Pair> {
  const ofSource = source[Symbol.asyncIterator]();
  const ofTarget = target[Symbol.asyncIterator]();
  try {
    let [one, other] = await Promise.all([ofSource.next(), ofTarget.next()]);
    for (;;) {
      const here = one.done === true ? undefined : one.value;
      const there = other.done === true ? undefined : other.value;
      if (!here && !there) return;
      const takesSource = here !== undefined && (!there || here.sequence <= there.sequence);
      const takesTarget = there !== undefined && (!here || there.sequence <= here.sequence);
      yield { ...(takesSource ? { ofSource: here } : {}), ...(takesTarget ? { ofTarget: there } : {}) };
      [one, other] = await Promise.all([
        takesSource ? ofSource.next() : one,
        takesTarget ? ofTarget.next() : other,
      ]);
    }
  } finally {
    await Promise.all([ofSource.return?.(), ofTarget.return?.()]);
  }
}
