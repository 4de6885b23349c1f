import { RUN_EVENT_TYPES } from '@runledger/contracts/events/run-event';
import { WEBHOOK_EVENT_TYPES } from '@runledger/contracts/events/webhook-event';
import type { ServiceContract } from '@runledger/contracts/service-contract';

export const contract: ServiceContract = {
  service: 'notifier',
  role: 'notifier',
  writes: {
    runs: [],
    webhooks: ['WebhookStarted', 'WebhookDelivered', 'WebhookGivenUp'],
    fleet: [],
    activity: false,
    readMarkers: false,
    terms: false,
  },
  // A notification is made from the fold of the whole run, and an intermediate one contains its progress.
  reads: { runs: RUN_EVENT_TYPES, webhooks: WEBHOOK_EVENT_TYPES, fleet: [], activity: true },
  gathersLeaders: false,
  readsAllStates: false,
  follows: ['RUNS', 'ACTIVITY'],
  subscribesToProgress: false,
  logs: 'nothing',
  buckets: { WEBHOOK_SECRETS: ['read', 'write'] },
  blobs: { BLOBS: 'reads' },
  erases: [],
  objects: [],
  leases: [],
  partitions: true,
  createsConsumers: false,
  heartbeats: false,
  timers: true,
  deliveryAttempts: 'writes',
  audit: false,
  deadLetters: [],
  showsDeadLetters: false,
  requests: [],
  responds: ['instances', 'receivers'],
};
