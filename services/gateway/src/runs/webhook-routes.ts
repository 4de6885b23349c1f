import { readDeliveries, readDeliveryStates } from '@runledger/event-log/streams/delivery-attempts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { SecretBox } from '@runledger/webhooks/signing/secret-box';
import { signingSecrets, type SigningSecrets } from '@runledger/webhooks/signing/signing-secrets';
import { RotateSecretRequest, WebhookSecret } from '@runledger/contracts/http/webhooks';
import { operation, route, type Route } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import type { FreshViews } from '../views/fresh-views.ts';
import type { RunViews } from '../views/run-views.ts';
import type { LogRoom } from './facts/log-room.ts';
import type { Envelope } from './facts/envelope.ts';
import type { ReadCurrentRun } from './facts/current-run.ts';
import type { ShownWebhooks } from './facts/shown-webhooks.ts';
import { deliveriesRoute, listDeliveriesRoute } from './deliveries.ts';
import { receiversReader, receiversRoute } from './receivers.ts';
import {
  redeliverManyRoute,
  redeliverMany,
  redeliverRoute,
  redeliverRun,
  type RedeliverRun,
} from './redeliver.ts';

interface WebhookRoutes {
  readonly log: EventLog;
  readonly views: RunViews;
  readonly fresh: Pick<FreshViews, 'freshAt'>;
  readonly current: ReadCurrentRun;
  readonly shown: ShownWebhooks;
  readonly room: LogRoom;
  readonly writer: Envelope['writer'];
  readonly box: SecretBox;
  readonly now: () => Date;
  readonly onConflict: () => void;
}

/** Deliveries of notifications and their receivers, redelivery, and the secret that signs them. */
export const webhookRoutes = ({ log, views, fresh, room, box, now, ...parts }: WebhookRoutes): Route[] => {
  const redeliver = inRoom(room, redeliverRun({ log, now, ...parts }));
  return [
    deliveriesRoute({ current: parts.current, attempts: (key) => readDeliveries(log, key) }),
    redeliverRoute({ redeliver }),
    listDeliveriesRoute({ views, states: (deliveries) => readDeliveryStates(log, deliveries) }),
    receiversRoute(receiversReader({ log, views })),
    redeliverManyRoute({ redeliverMany: redeliverMany({ views, fresh, redeliver }) }),
    ...webhookSecretRoutes(signingSecrets(log, box, { now })),
  ];
};

/** Redeliveries may not use the room that accepted runs need for their ends. @throws {Refused} */
const inRoom =
  (room: LogRoom, redeliver: RedeliverRun): RedeliverRun =>
  async (...request) => {
    const redelivery = await room.within(() => redeliver(...request));
    if (redelivery !== 'log_nearly_full') return redelivery;
    throw new Refused({
      code: 'log_full',
      why: 'The log of runs has no room for another redelivery. Try again when runs have ended or old ones have expired; an operator can raise runsMaxBytes in RUNLEDGER_LOG_SETTINGS',
    });
  };

const showOperation = operation({
  id: 'getWebhookSecret',
  method: 'GET',
  path: '/webhooks/secret',
  tag: 'Webhooks',
  summary: 'Read the signing secret',
  description: "Receivers verify the organisation's webhooks with it.",
  scope: 'admin',
  audit: { action: 'secret.read' },
  request: {},
  response: { status: 200, description: 'The secret.', body: WebhookSecret, holdsSecret: true },
  refusals: [],
});

const rotateOperation = operation({
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: '/webhooks/secret',
  tag: 'Webhooks',
  summary: 'Rotate the signing secret',
  description: 'The previous secret also signs for a while, so that receivers can change over.',
  scope: 'admin',
  audit: { action: 'secret.rotated' },
  request: { body: RotateSecretRequest },
  bodyOptional: true,
  response: { status: 200, description: 'The new secret.', body: WebhookSecret, holdsSecret: true },
  refusals: [],
});

const webhookSecretRoutes = (secrets: SigningSecrets): Route[] => [
  route(showOperation, async (_given, { org_id }) => secrets.current(org_id)),
  route(rotateOperation, async ({ body }, { org_id }) =>
    // The body may be missing, which its type does not say.
    secrets.rotate(org_id, { overlap_s: (body as typeof body | undefined)?.overlap_s ?? undefined }),
  ),
];
