import { readDeliveries, readDeliveryStates } from '@runledger/event-log/streams/delivery-attempts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { SecretBox } from '@runledger/webhooks/signing/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing/signing-secrets';
import type { Route } from '../http/operation.ts';
import { Refused } from '../http/refusal.ts';
import type { FreshViews } from '../projection/fresh-views.ts';
import type { RunViews } from '../projection/run-views.ts';
import type { LogRoom } from '../room/log-room.ts';
import type { Envelope } from '../runs/current/core/envelope.ts';
import type { ReadCurrentRun } from '../runs/current/current-run.ts';
import type { ShownWebhooks } from '../runs/current/shown-webhooks.ts';
import { deliveriesRoute } from './deliveries-route.ts';
import { listDeliveriesRoute } from './list-deliveries-route.ts';
import { receiversReader } from './read-receivers.ts';
import { receiversRoute } from './receivers-route.ts';
import { redeliverManyRoute } from './redeliver-many-route.ts';
import { redeliverMany } from './redeliver-many.ts';
import { redeliverRoute } from './redeliver-route.ts';
import { redeliverRun, type RedeliverRun } from './redeliver-run.ts';
import { webhookSecretRoutes } from './webhook-secret-route.ts';

export interface WebhookRoutes {
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
