import { polledClock } from '@runledger/coordination/polled-clock';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { Type } from 'typebox';
import { networkOf } from '../audit/core/network-of.ts';
import { Refused } from '../http/refusal.ts';
import { waitLeftS, type FailedSignIns } from './core/sign-in-waits.ts';
import { hashOf } from './store/account-rows.ts';

const FailedSignIn = Type.Object({ failures: Type.Integer({ minimum: 0 }), at: Type.Number() });

/** Slows the guessing of passwords down, at all gateways together. Every method may throw LogUnavailable. */
export interface SignInLimit {
  /** Counts a try, before it is made. @throws {Refused} while somebody has to wait, with how long */
  begin(email: string, address: string | null): Promise<void>;
  /** The try did not fail. */
  succeeded(email: string, address: string | null): Promise<void>;
  /** As `begin`, where the e-mail is not known yet. */
  beginUnnamed(address: string | null): Promise<void>;
  succeededUnnamed(address: string | null): Promise<void>;
}

/** Guesses of the password of one person. */
const FREE_OF_EMAIL = 5;
/** Several people may share an address. */
const FREE_OF_ADDRESS = 20;
const MAX_TRIES = 50;

/** Counts are in the bucket RATES, which forgets them two minutes after the last failure. */
export const signInLimit = (log: EventLog): SignInLimit => {
  const bucket = openBucket(log, 'RATES', FailedSignIn);
  const brokerNow = polledClock(log, 'KV_RATES');
  const change = async (
    name: string,
    to: (present: FailedSignIns | undefined, now: number) => FailedSignIns,
  ): Promise<void> => {
    const key = keyOf(name);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const entry = await bucket.get(key);
      const value = to(entry?.value, await brokerNow());
      const written = entry
        ? await bucket.update(key, value, entry.revision)
        : await bucket.create(key, value);
      if (written !== false) return;
    }
    throw new LogUnavailable('The failed sign-ins change too fast to be counted. Try again.');
  };
  const refuseWhileWaiting = (present: FailedSignIns | undefined, now: number, free: number): void => {
    const left = present === undefined ? 0 : waitLeftS(present, now, free);
    if (left > 0) throw limited(left);
  };
  const count = (name: string, free: number): Promise<void> =>
    change(name, (present, now) => {
      refuseWhileWaiting(present, now, free);
      return { failures: (present?.failures ?? 0) + 1, at: now };
    });
  const beginUnnamed = (address: string | null): Promise<void> => count(ofAddress(address), FREE_OF_ADDRESS);
  /** Only its own: a right password in between must not permit more wrong ones. */
  const succeededUnnamed = (address: string | null): Promise<void> =>
    change(ofAddress(address), (present, now) => ({
      failures: Math.max(0, (present?.failures ?? 0) - 1),
      at: present?.at ?? now,
    }));
  return {
    begin: async (email, address) => {
      // What is refused is no guess, so it is not counted.
      const present = await bucket.get(keyOf(ofEmail(email)));
      refuseWhileWaiting(present?.value, await brokerNow(), FREE_OF_EMAIL);
      // First: an address that has to wait cannot make a person wait.
      await beginUnnamed(address);
      await count(ofEmail(email), FREE_OF_EMAIL);
    },
    succeeded: async (email, address) => {
      await change(ofEmail(email), (_present, now) => ({ failures: 0, at: now }));
      await succeededUnnamed(address);
    },
    beginUnnamed,
    succeededUnnamed,
  };
};

const keyOf = (name: string): string => `sign_in.${name}`;

const ofEmail = (email: string): string => hashOf('email', email.toLowerCase());

/** Whoever has an address of IPv6 has its network. */
const ofAddress = (address: string | null): string =>
  hashOf('address', address?.includes(':') ? networkOf(address) : (address ?? 'unknown'));

const limited = (seconds: number): Refused =>
  new Refused({
    code: 'sign_in_limited',
    why: `Too many sign-ins failed. Try again in ${seconds} s`,
    headers: { 'Retry-After': String(seconds) },
  });
