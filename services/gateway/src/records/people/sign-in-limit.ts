import { polledClock } from '@runledger/coordination/broker-clock';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { changeEntry, openBucket } from '@runledger/event-log/streams/bucket';
import { keyedMutex } from '@runledger/resilience/keyed-mutex';
import { Type, type Static } from 'typebox';
import { networkOf } from '../audit/record-operation.ts';
import { Refused, type Refusal } from '../../door/refusal.ts';
import { hashOf } from './account-records.ts';

/** Failed sign-ins with one e-mail, or from one address. */
const FailedSignIns = Type.Object({
  /** How many counted at the time of the last one. It is forgotten bit by bit, so this is no whole number. */
  failures: Type.Number({ minimum: 0 }),
  /** When the last one failed, in milliseconds since 1970, by the broker's clock. */
  at: Type.Number(),
});
export type FailedSignIns = Static<typeof FailedSignIns>;

/** Slows the guessing of passwords down, at all gateways together. */
export interface SignInLimit {
  /**
   * Makes a try to sign in, and counts it when it is refused: for its address, and for its e-mail where it is known. At a gateway, the tries
   * with an e-mail, and those from an address, are made one after the other, so that none begins before a failure is counted.
   * @throws {Refused} while the e-mail or the address has to wait, with how long; otherwise what the try throws @throws {LogUnavailable}
   */
  attempt<Result>(by: SignInAttempt, make: () => Promise<Result>): Promise<Result>;
}

interface SignInAttempt {
  /** Left out where only the one who is asked knows it, such as a provider. */
  readonly email?: string;
  readonly address: string | null;
}

/** Guesses of the password of one person. */
const FREE_OF_EMAIL = 5;
/** Several people may share an address. */
const FREE_OF_ADDRESS = 20;

/** Counts are in the bucket RATES, which forgets them two minutes after the last failure. */
export const signInLimit = (log: EventLog): SignInLimit => {
  const bucket = openBucket(log, 'RATES', FailedSignIns);
  const brokerNow = polledClock(log, 'KV_RATES');
  const inTurn = keyedMutex();
  const refuseWhileWaiting = async (name: string, free: number): Promise<void> => {
    const entry = await bucket.get(keyOf(name));
    const left = entry ? waitLeftS(entry.value, await brokerNow(), free) : 0;
    if (left > 0) throw limited(left);
  };
  const change = (
    name: string,
    to: (present: FailedSignIns | undefined, now: number) => FailedSignIns | undefined,
  ): Promise<unknown> =>
    changeEntry(
      bucket,
      keyOf(name),
      async (present) => ({ value: to(present, await brokerNow()) }),
      'The failed sign-ins change too fast to be counted. Try again.',
    );
  const counted = async <Result>(names: readonly string[], make: () => Promise<Result>): Promise<Result> => {
    try {
      return await make();
    } catch (error) {
      if (isFailure(error)) for (const name of names) await change(name, failedAgain);
      throw error;
    }
  };
  return {
    attempt: async ({ email, address }, make) => {
      const from = ofAddress(address);
      if (email === undefined) {
        await refuseWhileWaiting(from, FREE_OF_ADDRESS);
        return counted([from], make);
      }
      const person = ofEmail(email);
      const tryIt = async (): ReturnType<typeof make> => {
        // First: an address that has to wait cannot make a person wait. What is refused here is no guess, and not counted.
        await refuseWhileWaiting(from, FREE_OF_ADDRESS);
        await refuseWhileWaiting(person, FREE_OF_EMAIL);
        const result = await counted([from, person], make);
        // Only of the person: a right password in between must not permit more guesses of others.
        await change(person, (present, now) => present && { failures: 0, at: now });
        return result;
      };
      return inTurn(person, () => inTurn(from, tryIt));
    },
  };
};

/** Not the fault of whoever signs in. */
const NO_FAILURES: ReadonlySet<Refusal['code']> = new Set(['sign_in_limited', 'provider_unavailable']);

const isFailure = (error: unknown): boolean =>
  error instanceof Refused && !NO_FAILURES.has(error.refusal.code);

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

const MS = 1_000;
const FIRST_WAIT_S = 5;
const LONGEST_WAIT_S = 60;
/** Whoever mistypes a password now and then never waits, however many others sign in from the same address. */
const ONE_FORGOTTEN_IN_S = 30;

/** With one failure more. */
export const failedAgain = (present: FailedSignIns | undefined, now: number): FailedSignIns => {
  const left = present ? present.failures - Math.max(0, now - present.at) / (ONE_FORGOTTEN_IN_S * MS) : 0;
  return { failures: Math.max(0, left) + 1, at: now };
};

/** The whole seconds to wait after so many failures: none while `free` were not used up, then 5, 10, 20 and so on, 60 at most. */
export const waitS = (failures: number, free: number): number => {
  const begun = Math.ceil(failures);
  return begun < free ? 0 : Math.min(FIRST_WAIT_S * 2 ** (begun - free), LONGEST_WAIT_S);
};

/** The whole seconds that are left to wait at a time; 0 when another try may begin. */
export const waitLeftS = ({ failures, at }: FailedSignIns, now: number, free: number): number =>
  Math.max(0, Math.ceil((at + waitS(failures, free) * MS - now) / MS));
