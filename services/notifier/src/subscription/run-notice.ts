import { acceptMessage, EMPTY_HISTORY, type StoredMessage } from '@runledger/contracts/fold/chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { isDeleted } from '@runledger/contracts/fold/run';
import { followsEnd, RUN_EVENTS } from '@runledger/contracts/events/run-event';
import {
  parseProgressSubject,
  parseLifecycleSubject,
  parseWebhookSubject,
  type LifecycleSubject,
  type RunKey,
} from '@runledger/contracts/subjects/run-subjects';
import { webhookTargetOf, type WebhookTarget } from './webhook-targets.ts';

/**
 * What a message may mean for notifications. Whether it is valid is known when the run is read. `target` is where they go: of a fact
 * that a history can begin with.
 */
export type RunNotice =
  | {
      readonly type: 'run_changed';
      readonly key: RunKey;
      readonly target?: WebhookTarget | null;
    }
  | {
      readonly type: 'run_ended';
      readonly key: RunKey;
      /** Of a run that outlived the log: its end says where its notification goes. */
      readonly target?: WebhookTarget | null;
    }
  | { readonly type: 'redelivery_requested'; readonly key: RunKey; readonly round: number }
  | { readonly type: 'progress_reported'; readonly key: RunKey };

/** Of a message of RUNS. Undefined for one that concerns no notification. */
export const runNotice = (message: StoredMessage): RunNotice | undefined => {
  const { subject } = message;
  const life = parseLifecycleSubject(subject);
  if (life) {
    if (followsEnd(life.fact)) return undefined;
    const key = { org_id: life.org_id, run_id: life.run_id };
    const ended = life.fact === 'ended' || (life.fact === 'cancel_requested' && life.executor_id === null);
    const target = mayBegin(life) ? targetIn(message) : {};
    return { type: ended ? 'run_ended' : 'run_changed', key, ...target };
  }
  const webhook = parseWebhookSubject(subject);
  if (webhook?.fact !== 'redelivery_requested') return undefined;
  const { org_id, run_id, round } = webhook;
  return { type: 'redelivery_requested', key: { org_id, run_id }, round };
};

/** Of a message of ACTIVITY. */
export const progressNotice = ({ subject }: StoredMessage): RunNotice | undefined => {
  const about = parseProgressSubject(subject);
  return about && { type: 'progress_reported', key: { org_id: about.org_id, run_id: about.run_id } };
};

/** Only a fact that may begin the history of a run has its target: RunQueued, or the end of a run that outlived the log. */
const mayBegin = ({ fact, writer }: LifecycleSubject): boolean =>
  [RUN_EVENTS.RunQueued, RUN_EVENTS.RunExpired].some((type) => type.fact === fact && type.writer === writer);

/** A forged one would turn the webhook off, or redirect it. */
const targetIn = (message: StoredMessage): { readonly target?: WebhookTarget | null } => {
  const first = acceptMessage(RUN_CHAIN, EMPTY_HISTORY, message);
  return first.kind === 'accepted' && !isDeleted(first.state)
    ? { target: webhookTargetOf(first.state.request, Date.parse(message.time)) }
    : {};
};
