import { RUN_EVENT_TYPES } from '@runledger/contracts/run-event';
import { WEBHOOK_EVENT_TYPES } from '@runledger/contracts/webhook-event';
import type { ServiceContract } from '@runledger/contracts/service-contract';

export const contract: ServiceContract = {
  service: 'gateway',
  role: 'gateway',
  writes: {
    runs: ['RunQueued', 'RunCancelRequested'],
    webhooks: ['WebhookRedeliveryRequested'],
    fleet: [],
    activity: false,
  },
  // The views are the fold of everything, and progress is shown.
  reads: { runs: RUN_EVENT_TYPES, webhooks: WEBHOOK_EVENT_TYPES, fleet: [], activity: true },
};
