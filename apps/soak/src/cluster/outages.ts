import type { FaultKind } from '../faults/fault-schedule.ts';

/** What a part is: services of one name are alike. */
export type PartRole = 'broker' | 'database' | 'gateway' | 'scheduler' | 'gpu-executor' | 'notifier';

/** Times are milliseconds since the epoch. */
export interface Outage {
  readonly part: string;
  readonly role: PartRole;
  readonly kind: FaultKind;
  readonly from: number;
  /** When it was there again, ready to work; undefined when it never was. */
  readonly to: number | undefined;
}

/** `clean` is a stop with nothing left undone, `gave up` an exit status that says otherwise, `killed` the end by a signal. */
export type EndKind = 'clean' | 'gave up' | 'killed';

/** A stop by SIGTERM. */
export interface Stopped {
  readonly part: string;
  readonly role: PartRole;
  readonly at: number;
  readonly tookMs: number;
  /** In words, such as "ended with exit status 0". */
  readonly how: string;
  readonly endKind: EndKind;
}

/** A process that ended although nobody had struck it. */
export interface UnexpectedEnd {
  readonly part: string;
  readonly at: number;
  readonly how: string;
}

export interface FaultRecords {
  readonly outages: readonly Outage[];
  readonly stops: readonly Stopped[];
  readonly unexpectedEnds: readonly UnexpectedEnd[];
}

/** Milliseconds between two moments in which one of these roles was away or had been back for less than `settleMs`. */
export const outageMsIn = (
  troubles: readonly Outage[],
  roles: readonly PartRole[],
  settleMs: number,
  { from, to }: { readonly from: number; readonly to: number },
): number => {
  const spans = troubles
    .filter(({ role }) => roles.includes(role))
    .map((trouble) => ({
      from: Math.max(from, trouble.from),
      to: Math.min(to, (trouble.to ?? to) + settleMs),
    }))
    .filter((span) => span.to > span.from)
    .sort((one, other) => one.from - other.from);
  let sum = 0;
  let reached = from;
  for (const span of spans) {
    sum += Math.max(0, span.to - Math.max(span.from, reached));
    reached = Math.max(reached, span.to);
  }
  return sum;
};
