import { nullable } from '@runledger/contracts/http/fields/optional';
import { Type } from 'typebox';
import type { Static } from 'typebox';

/** Seconds; null for a phase that did not happen. */
const Phases = Type.Object({
  dns: nullable(Type.Number()),
  connect: nullable(Type.Number()),
  tls: nullable(Type.Number()),
  wait: nullable(Type.Number()),
  body: nullable(Type.Number()),
});

/** One request to the receiver. */
const ShownAttempt = Type.Object({
  webhook_id: Type.String(),
  round: Type.Integer(),
  try: Type.Integer(),
  url: Type.String(),
  started_at: Type.String(),
  phases: Phases,
  reason: Type.String(),
  message: Type.String(),
  status: nullable(Type.Integer()),
  answer: nullable(Type.String()),
});
export type ShownAttempt = Static<typeof ShownAttempt>;

const deliveryState = {
  webhook_status: nullable(Type.String()),
  round: Type.Integer(),
  state: nullable(Type.String()),
  next_try_at: nullable(Type.String()),
  given_up_reason: nullable(Type.String()),
  message: nullable(Type.String()),
};

/** The members that commands show of a run's notifications. `--json` prints all members of the answer. */
export const RunDeliveries = Type.Object({
  run_id: Type.String(),
  webhook: nullable(Type.String()),
  ...deliveryState,
  tries: Type.Array(ShownAttempt),
  /** The latest intermediate notification. */
  intermediate: nullable(ShownAttempt),
});
export type RunDeliveries = Static<typeof RunDeliveries>;

/** A run with a webhook, in a list. */
const ListedDelivery = Type.Object({
  run_id: Type.String(),
  url: Type.String(),
  ...deliveryState,
  tries: Type.Integer(),
  last_reason: nullable(Type.String()),
  updated_at: Type.String(),
});
export type ListedDelivery = Static<typeof ListedDelivery>;

export const DeliveriesPage = Type.Object({
  deliveries: Type.Array(ListedDelivery),
  next_cursor: nullable(Type.String()),
});
export type DeliveriesPage = Static<typeof DeliveriesPage>;
