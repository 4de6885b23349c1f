import type { ServiceContract } from '@runledger/contracts/access/service-contract';

export const contract: ServiceContract = {
  service: 'gpu-executor',
  role: 'executor',
  writes: {
    runs: ['RunStarted', 'RunUploading', 'RunSucceeded', 'RunFailed', 'RunCancelled'],
    webhooks: [],
    fleet: ['ExecutorRegistered', 'ExecutorDraining', 'ExecutorLeft'],
    activity: true,
    readMarkers: false,
  },
  // Of these only what is addressed to the executor's own id.
  reads: {
    runs: [
      'RunAssigned',
      'RunCancelRequested',
      'RunRequeued',
      'RunTimedOut',
      'RunGivenUp',
      'RunCancelEnforced',
      'RunExpired',
      // Its own facts: they lie between the others.
      'RunStarted',
      'RunUploading',
      'RunSucceeded',
      'RunFailed',
      'RunCancelled',
    ],
    webhooks: [],
    fleet: [],
    activity: false,
  },
  gathersLeaders: false,
  follows: [],
  subscribesToProgress: false,
  buckets: {},
  blobs: {},
  objects: [],
  leases: [],
  partitions: false,
  heartbeats: true,
  timers: false,
  deliveryAttempts: 'nothing',
  deadLetters: [{ stream: 'RUNS', as: 'executor-<name>' }],
  requests: [],
  responds: ['redrive'],
};
