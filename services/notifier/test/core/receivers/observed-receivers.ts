import type { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { partitionOf } from '@runledger/contracts/deliveries/timers';
import { newUuid, orgId, runId, type RunId } from '@runledger/contracts/ids';
import type { Receiver, Sent } from '../../../src/core/receiver.ts';
import type { RunMessage } from '../../../src/core/inputs-and-effects.ts';
import type { NotifierState } from '../../../src/core/state.ts';
import { simulateCore, storeDeferred, STORED, type SimulatedCore } from '../simulated-core.ts';

export { SECOND } from '../simulated-core.ts';

const orgs = new Map<string, string>();

/** An organisation by a name that a test gives it. */
const orgNamed = (name: string): string => {
  const org = orgs.get(name) ?? newUuid();
  orgs.set(name, org);
  return org;
};

export const receiver = (origin: string, org = 'org'): Receiver => ({
  org_id: orgNamed(org),
  origin: `https://${origin}.example`,
});

/** A notification that counts what was done with it. */
export interface Sending {
  readonly receiver: Receiver;
  readonly run: RunId;
  begun: number;
  ended: number;
  deferrals: number;
  /** Ends the attempt that is being made. */
  end(sent: Sent): void;
}

/** How long a receiver takes, and how it answers; undefined when the test answers itself. */
export type Behaviour = () => { readonly afterMs: number; readonly sent: Sent } | undefined;

export interface ObservedReceivers {
  readonly core: SimulatedCore;
  readonly state: NotifierState;
  /** Everything that was begun, in that order. */
  readonly begun: Sending[];
  readonly pass: (ms?: number) => void;
  submit(to: Receiver, how?: { readonly final?: boolean; readonly behaviour?: Behaviour }): Sending;
  submitMany(count: number, to: Receiver, how?: { readonly behaviour?: Behaviour }): Sending[];
  /** The run ends: its final notification is to be sent. */
  endRun(sending: Sending): void;
  /** Somebody requests that its final notification is sent again. */
  redeliver(sending: Sending): void;
  /** Opens a breaker, as five failures do, or more of them. */
  trip(key: string, openMs?: number): void;
  /** Deferred deliveries of the receiver are expected in the log. */
  readonly expectDeferred: (receiver: Receiver) => void;
  /** Ends all attempts that are being made. */
  endAll(items: readonly Sending[], sent: Sent): void;
}

export const answers =
  (sent: DeliveryAttemptResult, afterMs = 5): Behaviour =>
  () => ({ afterMs, sent });

const FIRST_OPEN_MS = 30_000;

/** The real core with receivers and a log made up. A delivery that failed is not sent again: its timer is never due. */
export const observeReceivers = ({ maxInFlight = 100, readMs = 1 } = {}): ObservedReceivers => {
  const core = simulateCore({ maxInFlight, readMs });
  const { state, handle } = core;
  const begun: Sending[] = [];
  const sendings = new Map<RunId, { readonly sending: Sending; readonly behaviour: Behaviour }>();

  core.surroundings.attempt = (effect) => {
    const key = effect.type === 'attempt_final' ? effect.delivery.key : effect.key;
    const { sending, behaviour } = sendings.get(key.run_id) ?? missing();
    sending.begun += 1;
    begun.push(sending);
    sending.end = (sent) => {
      sending.end = () => undefined;
      sending.ended += 1;
      handle({ type: 'attempt_finished', attempt: effect.attempt, report: reportOf(sent, core.now()) });
    };
    const does = behaviour();
    if (does) core.after(does.afterMs, () => sending.end(does.sent));
  };
  core.surroundings.defer = ({ delivery }) => {
    (sendings.get(delivery.key.run_id) ?? missing()).sending.deferrals += 1;
    storeDeferred(core, delivery);
    handle({ type: 'deferral_finished', run: delivery.key.run_id, outcome: STORED });
  };

  const messageOf = ({ receiver: { org_id, origin }, run }: Sending): RunMessage => ({
    partition: partitionOf(origin),
    key: { org_id: orgId(org_id), run_id: run },
    origin,
    sequence: core.nextSequence(),
  });
  const endRun = (sending: Sending): void =>
    handle({ type: 'run_ended', time: core.now(), oldestFactAt: core.now(), ...messageOf(sending) });
  const submit: ObservedReceivers['submit'] = (to, { final = true, behaviour = () => undefined } = {}) => {
    const run = runId(newUuid());
    const sending: Sending = {
      receiver: to,
      run,
      begun: 0,
      ended: 0,
      deferrals: 0,
      end: () => undefined,
    };
    sendings.set(run, { sending, behaviour });
    if (final) endRun(sending);
    else handle({ type: 'run_changed', ...messageOf(sending) });
    return sending;
  };
  return {
    core,
    state,
    begun,
    pass: core.pass,
    submit,
    endRun,
    redeliver: (sending) =>
      handle({
        type: 'redelivery_requested',
        round: 2,
        time: core.now(),
        oldestFactAt: core.now(),
        ...messageOf(sending),
      }),
    submitMany: (count, to, how) => Array.from({ length: count }, () => submit(to, how)),
    trip: (key, openMs = FIRST_OPEN_MS) => {
      const [origin = '', org_id = null] = key.split(' ').toReversed();
      const until = core.now() + openMs;
      handle({ type: 'opening_found', origin, org_id, opens: 1, until });
    },
    expectDeferred: ({ origin, org_id }) => {
      const timer = { origin, org_id, opens: 0, until: core.now(), sequence: core.nextSequence() };
      handle({ type: 'opening_due', restore: false, ...timer });
    },
    endAll: (items, sent) => {
      for (const item of inFlight(items)) item.end(sent);
      core.pass();
    },
  };
};

const missing = (): never => {
  throw new Error('A run was sent that no test submitted.');
};

const reportOf = (sent: Sent, now: number) => {
  if (sent === 'nothing') return { kind: 'nothing' } as const;
  const result = { reason: sent, message: '', status: null, retry_after: null };
  return { kind: 'sent', result, round: 1, attempts: 0, expiresAt: Infinity, endedAt: now } as const;
};

/** Those that are being sent now. */
export const inFlight = (items: readonly Sending[]): Sending[] =>
  items.filter((item) => item.begun > item.ended);
