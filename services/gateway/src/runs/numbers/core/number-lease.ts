/** The numbers that one gateway holds for the next runs of an organisation. Times are monotonic, in milliseconds. */
export interface NumberLease {
  /** How many to take the next time. */
  readonly size: number;
  readonly first: number;
  /** The next one to use. */
  readonly next: number;
  /** The first one that it does not hold. */
  readonly end: number;
  readonly takenAt: number;
}

/** What is left of a lease after this time is given back. */
export const LEASE_MS = 1_000;
const QUICKLY_MS = 500;
/** A thousand runs a second take eight leases then. A gateway that is killed leaves out no more numbers than this. */
const MAX_SIZE = 128;

export const NO_NUMBERS: NumberLease = { size: 1, first: 1, next: 1, end: 1, takenAt: -Infinity };

/** The next number; undefined when more have to be taken first. */
export const spend = (
  lease: NumberLease,
): { readonly number: number; readonly lease: NumberLease } | undefined =>
  lease.next < lease.end ? { number: lease.next, lease: { ...lease, next: lease.next + 1 } } : undefined;

/** Before more are taken: a lease that was used up quickly is followed by a larger one. */
export const grown = (lease: NumberLease, now: number): NumberLease =>
  now - lease.takenAt < QUICKLY_MS ? { ...lease, size: Math.min(MAX_SIZE, lease.size * 2) } : lease;

/** With the numbers that were taken. */
export const taken = (
  { size }: NumberLease,
  { first, end }: Pick<NumberLease, 'first' | 'end'>,
  now: number,
): NumberLease => ({ size, first, next: first, end, takenAt: now });

/** Without the numbers that were not used. The next lease is no larger than what was used of this one. */
export const returned = (lease: NumberLease): NumberLease => ({
  ...lease,
  size: Math.min(lease.size, Math.max(1, lease.next - lease.first)),
  end: lease.next,
});
