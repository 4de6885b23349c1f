import { secretBox } from '@runledger/webhooks/signing/secret-box';
import { signingSecrets, type SigningSecrets } from '@runledger/webhooks/signing/signing-secrets';
import { RotateSecretRequest, WebhookSecret } from '@runledger/contracts/http/webhooks';
import { operation, route, type Route } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import type { Kit } from '../kit.ts';
import type { LogRoom } from './facts/log-room.ts';
import type { Runs } from './runs.ts';
import { deliveriesRoute, listDeliveriesRoute } from './deliveries.ts';
import { receiversRoute } from './receivers.ts';
import { redeliverManyRoute, redeliverRoute, redeliverRun, type RedeliverRun } from './redeliver.ts';

/** Deliveries of notifications and their receivers, redelivery, and the secret that signs them. */
export const webhookRoutes = (kit: Kit, runs: Runs): Route[] => {
  const { config, log, now } = kit;
  const redeliver = inRoom(runs.room, redeliverRun(kit, runs.current, runs.shown));
  const box = secretBox(config.RUNLEDGER_SECRET_KEYS);
  return [
    deliveriesRoute(kit, runs),
    redeliverRoute(redeliver),
    listDeliveriesRoute(kit),
    receiversRoute(kit),
    redeliverManyRoute(kit, runs, redeliver),
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
