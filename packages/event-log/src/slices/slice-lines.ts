import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { DeliveryAttempt, DeliveryState } from '@runledger/contracts/deliveries/delivery-attempts';
import { parseRunEvent } from '@runledger/contracts/events/run-event';
import { parseWebhookEvent } from '@runledger/contracts/events/webhook-event';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { Hiding } from '@runledger/contracts/slices/content-rules';
import {
  deliveryAttemptWithoutContent,
  deliveryStateWithoutContent,
  webhookEventWithoutContent,
} from '@runledger/contracts/slices/deliveries-without-content';
import { fleetEventWithoutContent } from '@runledger/contracts/slices/fleet-without-content';
import type { SlicedStream, SliceFact, SliceGap } from '@runledger/contracts/slices/slice';
import { runEventWithoutContent } from '@runledger/contracts/slices/without-content';
import { newerVersionOf } from '../follow/newer-version.ts';
import { parseFleetEvent } from '@runledger/contracts/events/fleet-event';

const AttemptCheck = compiledSchema(DeliveryAttempt);
const StateCheck = compiledSchema(DeliveryState);

/**
 * A message as a line, without what the slice does not keep. What an executor wrote in a later version has its type and version: whoever
 * plays the slice knows whether it is a fact. @throws {NewerVersion}
 */
export const factLine = (stream: SlicedStream, message: StoredMessage, hiding: Hiding): SliceFact => {
  const newer = newerVersionOf(stream, message);
  if (newer) throw newer;
  const { sequence, time, subject, fence, expectedSequence, body } = message;
  const event = EVENT_OF[stream](body, hiding);
  return { kind: 'fact', stream, sequence, time, subject, fence, expected_sequence: expectedSequence, event };
};

type EventOf = (body: unknown, hiding: Hiding) => object | null;

const runEventOf: EventOf = (body, hiding) => {
  const life = parseRunEvent(body);
  if (life.kind === 'event') return runEventWithoutContent(life.event, hiding);
  if (life.kind === 'newer_version') return { type: life.type, version: life.version };
  const webhook = parseWebhookEvent(body);
  return webhook.kind === 'event' ? webhookEventWithoutContent(webhook.event, hiding) : null;
};

const fleetEventOf: EventOf = (body, hiding) => {
  const parsed = parseFleetEvent(body);
  return parsed.kind === 'event' ? fleetEventWithoutContent(parsed.event, hiding) : null;
};

const deliveryOf: EventOf = (body, hiding) => {
  if (AttemptCheck.Check(body)) return deliveryAttemptWithoutContent(body, hiding);
  return StateCheck.Check(body) ? deliveryStateWithoutContent(body, hiding) : null;
};

const EVENT_OF: Readonly<Record<SlicedStream, EventOf>> = {
  RUNS: runEventOf,
  FLEET: fleetEventOf,
  DELIVERY_ATTEMPTS: deliveryOf,
};

/** The gap before each message of a stream that is read from some position on, if there is one. */
export const gapsBefore = (
  stream: SlicedStream,
  firstOfStream: number,
): ((sequence: number) => SliceGap[]) => {
  let before: number | undefined;
  return (sequence) => {
    // Before the first one of the stream there were others, which may have been of that time.
    const due = before ?? (sequence === firstOfStream ? 0 : sequence - 1);
    before = sequence;
    return due + 1 < sequence
      ? [{ kind: 'gap', stream, first_sequence: due + 1, last_sequence: sequence - 1 }]
      : [];
  };
};
