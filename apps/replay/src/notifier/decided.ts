import type { DeliveryAttempt, DeliveryState } from '@runledger/contracts/deliveries/delivery-attempts';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { factSentence } from '@runledger/contracts/events/fact-sentence';
import type { Conclusion, Retry } from '@runledger/notifier/core/conclusion';
import type { Decided } from '../decisions/verdict.ts';

/** A fact of the notifier, as a decision: without the id of the message, which follows from the run, and without its text. */
export const decidedByEvent = (event: WebhookEvent): Decided => {
  const { type, round } = event;
  const sentence = factSentence(event);
  if (type === 'WebhookDelivered') {
    const { tries, status } = event.data;
    return { type, members: { round, tries, status }, sentence };
  }
  if (type === 'WebhookGivenUp') {
    const { tries, reason, last_reason, status } = event.data;
    return { type, members: { round, tries, reason, last_reason, status }, sentence };
  }
  return { type, members: { round }, sentence };
};

/** The conclusion of an attempt that settles the delivery, as the fact that it becomes. */
export const decidedByConclusion = (round: number, conclusion: Exclude<Conclusion, Retry>): Decided => {
  if (conclusion.kind === 'delivered') {
    const { attempts: tries, status } = conclusion;
    const members = { round, tries, status };
    return { type: 'WebhookDelivered', members, sentence: `delivered by attempt ${tries} of round ${round}` };
  }
  const { tries, reason, last_reason, status } = conclusion.fact;
  const members = { round, tries, reason, last_reason, status };
  const sentence = `given up after attempt ${tries} of round ${round}: ${reason}`;
  return { type: 'WebhookGivenUp', members, sentence };
};

export const decidedStart = (round: number): Decided => ({
  type: 'WebhookStarted',
  members: { round },
  sentence: `an attempt of round ${round} did not settle the final notification at once`,
});

type NumberedAttempt = Pick<DeliveryAttempt, 'round' | 'try'>;

/** `is_due`: it does not begin before its time. */
export const decidedAttempt = ({ round, try: number }: NumberedAttempt, is_due: boolean): Decided => ({
  type: 'DeliveryAttempt',
  members: { round, try: number, is_due },
  sentence: `attempt ${number} of round ${round}${is_due ? '' : ', before its time'}`,
});

/** `is_due`: the next attempt is at a time that the schedule allows; true for a deferred delivery, which has none. */
export const decidedState = (
  { state, round, tries }: Pick<DeliveryState, 'state' | 'round' | 'tries'>,
  is_due: boolean,
): Decided => ({
  type: 'DeliveryState',
  members: { state, round, tries, is_due },
  sentence: `${state} after ${tries} attempts of round ${round}${is_due ? '' : ', at a time that the schedule does not have'}`,
});
