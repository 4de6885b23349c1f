import { EXECUTORS_SUBJECT, SHORTAGE_SUBJECT } from '@runledger/contracts/requests/executors';
import { instancesSubject, SERVICES_WITH_INSTANCES } from '@runledger/contracts/requests/instances';
import { POOLS_SUBJECT } from '@runledger/contracts/requests/pools';
import { QUEUE_POSITIONS_SUBJECT, WAIT_SUBJECT } from '@runledger/contracts/requests/queue-position';
import { RECEIVERS_SUBJECT } from '@runledger/contracts/deliveries/receivers';
import { READY_SLOTS_SUBJECT, keepReadySubject } from '@runledger/contracts/requests/ready-slots';
import { redriveSubject } from '@runledger/contracts/requests/operator-requests';
import { RUN_EVENT_TYPES } from '@runledger/contracts/events/run-event';
import type { ServiceContract } from '@runledger/contracts/service-contract';
import { WEBHOOK_EVENT_TYPES } from '@runledger/contracts/events/webhook-event';

export const contract: ServiceContract = {
  service: 'gateway',
  role: 'gateway',
  writes: {
    runs: ['RunQueued', 'RunCancelRequested', 'RunExpired', 'RunOutputsDeleted', 'RunDeleted'],
    webhooks: ['WebhookRedeliveryRequested', 'WebhookExpired'],
    fleet: ['ExecutorDrainRequested', 'ExecutorResumeRequested'],
    activity: false,
    readMarkers: true,
    terms: false,
  },
  // The views are the fold of everything, and progress is shown.
  reads: { runs: RUN_EVENT_TYPES, webhooks: WEBHOOK_EVENT_TYPES, fleet: [], activity: true },
  gathersLeaders: true,
  readsAllStates: true,
  follows: ['RUNS'],
  subscribesToProgress: true,
  logs: 'reads',
  buckets: {
    ACCOUNTS: ['read', 'list', 'write', 'erase'],
    ARCHIVE: ['read', 'list', 'write', 'erase'],
    CATALOGUE: ['read', 'list', 'write', 'erase'],
    FILES: ['read', 'list', 'write', 'erase'],
    KEYS: ['read', 'list', 'write', 'erase'],
    RATES: ['read', 'write'],
    SCHEDULES: ['read', 'list', 'write', 'erase'],
    WEBHOOK_SECRETS: ['read', 'write', 'erase'],
  },
  blobs: { WORKFLOWS: 'keeps', BLOBS: 'keeps' },
  erases: ['ACTIVITY', 'BLOBS', 'DELIVERY_ATTEMPTS', 'TIMERS', 'WORKFLOWS'],
  objects: ['ARCHIVE', 'MODELS', 'OUTPUTS'],
  // The third is no lease: where RUNS ends, beside them.
  leases: ['projection.*', 'schedules', 'log_end'],
  partitions: false,
  createsConsumers: false,
  heartbeats: false,
  timers: false,
  deliveryAttempts: 'reads',
  audit: true,
  deadLetters: [{ stream: 'RUNS', as: 'projection' }],
  showsDeadLetters: true,
  requests: [
    QUEUE_POSITIONS_SUBJECT,
    EXECUTORS_SUBJECT,
    WAIT_SUBJECT,
    POOLS_SUBJECT,
    SHORTAGE_SUBJECT,
    READY_SLOTS_SUBJECT,
    RECEIVERS_SUBJECT,
    ...SERVICES_WITH_INSTANCES.map(instancesSubject),
    redriveSubject('gateway'),
    redriveSubject('scheduler'),
    redriveSubject('executor.*'),
    keepReadySubject('*'),
  ],
  responds: ['instances', 'rebuild_views', 'redrive', 'view_digests'],
};
