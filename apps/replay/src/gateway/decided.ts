import { RUN_EVENTS, type RunEvent, type RunEventOf } from '@runledger/contracts/events/run-event';
import type { ErasedContent } from '@runledger/contracts/events/run-event-data';
import {
  isWebhookEvent,
  WEBHOOK_EVENTS,
  type WebhookEvent,
  type WebhookEventOf,
} from '@runledger/contracts/events/webhook-event';
import { factSentence } from '@runledger/contracts/events/fact-sentence';
import type { Decided } from '../decisions/verdict.ts';

/** A fact that a gateway stores about a run. */
export type FactOfGateway =
  | RunEventOf<'RunQueued'>
  | RunEventOf<'RunCancelRequested'>
  | RunEventOf<'RunOutputsDeleted'>
  | RunEventOf<'RunDeleted'>
  | RunEventOf<'RunExpired'>
  | WebhookEventOf<'WebhookRedeliveryRequested'>
  | WebhookEventOf<'WebhookExpired'>;

export const isOfGateway = (event: RunEvent | WebhookEvent): event is FactOfGateway =>
  (isWebhookEvent(event) ? WEBHOOK_EVENTS[event.type] : RUN_EVENTS[event.type]).writer === 'gateway';

/** Of what is erased with a run: what the slice says of its content. */
export type KnownContent = readonly (keyof ErasedContent)[];

/** A fact as a decision: without who asked for it, and without content and texts. */
export const decidedByEvent = (event: FactOfGateway, content: KnownContent): Decided => ({
  type: event.type,
  members: decidedMembers(event, content),
  sentence: factSentence(event),
});

const decidedMembers = (event: FactOfGateway, content: KnownContent): Record<string, unknown> => {
  switch (event.type) {
    case 'RunQueued':
      return settingsOf(event);
    case 'RunCancelRequested': {
      const { attempt, executor_id, data } = event;
      return { attempt, executor_id, by: data.by };
    }
    case 'RunOutputsDeleted':
      return { attempt: event.attempt };
    case 'RunDeleted': {
      const { number, created_at, erases } = event.data;
      const erased = Object.fromEntries(content.map((name) => [name, erases[name]]));
      return { attempt: event.attempt, number, created_at, erases: erased };
    }
    case 'RunExpired': {
      const { message: _message, request: _request, attempt: last_attempt, ...known } = event.data;
      return { attempt: event.attempt, executor_id: event.executor_id, ...known, last_attempt };
    }
    case 'WebhookRedeliveryRequested':
    case 'WebhookExpired':
      return { round: event.round };
  }
};

/** Inputs may be others, and the number and the key belong to the request. */
const settingsOf = ({ data }: RunEventOf<'RunQueued'>): Record<string, unknown> => {
  const {
    inputs: _inputs,
    inputs_blob: _blob,
    file_inputs: _files,
    secret_inputs: _secrets,
    user_id: _user,
    number: _number,
    idempotency: _key,
    ...settings
  } = data;
  return settings;
};
