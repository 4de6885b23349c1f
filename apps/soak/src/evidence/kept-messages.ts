import { isDeepStrictEqual } from 'node:util';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { LimitChange } from '../limits/limit-changes.ts';
import type { Size } from '../parameters/size.ts';

/** What was seen while the soak ran and what is stored after it. A log that forgets has lost a part of the first. */
export const everyMessage = (
  seen: readonly StoredMessage[],
  stored: readonly StoredMessage[],
): StoredMessage[] => {
  const last = seen.at(-1)?.sequence ?? 0;
  return [...seen, ...stored.filter(({ sequence }) => sequence > last)];
};

/** The broker's clock is that of this machine. It expires messages in rounds. */
const SLACK_MS = 1_000;

/** What is older than this may have left the log, which forgot. In milliseconds since the epoch. */
export const forgottenBefore = (
  limits: readonly LimitChange[],
  { shortLogAgeMs }: Pick<Size, 'shortLogAgeMs'>,
): number =>
  Math.max(
    ...limits.map(({ kind, to = Infinity }) => (kind === 'forgetful' ? to - shortLogAgeMs + SLACK_MS : 0)),
    0,
  );

/** Messages that were seen and are missing or different now, without those that were old when the log forgot. */
export const vanishedFrom = (
  stored: readonly StoredMessage[],
  seen: readonly StoredMessage[],
  limits: readonly LimitChange[],
  { shortLogAgeMs }: Pick<Size, 'shortLogAgeMs'>,
): StoredMessage[] => {
  const now = new Map(stored.map((message) => [message.sequence, message]));
  const before = forgottenBefore(limits, { shortLogAgeMs });
  return seen.filter((message) => {
    const found = now.get(message.sequence);
    if (found === undefined && Date.parse(message.time) < before) return false;
    return !isDeepStrictEqual(found, message);
  });
};
