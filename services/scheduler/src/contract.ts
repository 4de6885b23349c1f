import type { ServiceContract } from '@runledger/contracts/access/service-contract';

export const contract: ServiceContract = {
  service: 'scheduler',
  role: 'scheduler',
  writes: {
    runs: ['RunAssigned', 'RunRequeued', 'RunTimedOut', 'RunGivenUp', 'RunCancelEnforced'],
    webhooks: [],
    fleet: ['ExecutorLost'],
    activity: false,
    readMarkers: false,
  },
  reads: {
    runs: [
      'RunQueued',
      'RunCancelRequested',
      'RunStarted',
      'RunUploading',
      'RunSucceeded',
      'RunFailed',
      'RunCancelled',
      'RunExpired',
      // Its own facts: a decision counts once it is read from the log.
      'RunAssigned',
      'RunRequeued',
      'RunTimedOut',
      'RunGivenUp',
      'RunCancelEnforced',
    ],
    webhooks: [],
    fleet: [
      'ExecutorRegistered',
      'ExecutorDraining',
      'ExecutorLeft',
      'ExecutorLost',
      'ExecutorDrainRequested',
      'ExecutorResumeRequested',
    ],
    activity: true,
  },
  follows: ['RUNS', 'FLEET'],
  subscribesToProgress: false,
  // A run has everything that it needs of the catalogue.
  buckets: { EXECUTORS: ['read', 'list'] },
  blobs: {},
  objects: ['SNAPSHOTS'],
  leases: ['scheduler'],
  partitions: false,
  heartbeats: false,
  timers: false,
  deliveryAttempts: 'nothing',
  deadLetters: [
    { stream: 'RUNS', as: 'scheduler' },
    { stream: 'FLEET', as: 'scheduler' },
  ],
  requests: [],
  responds: ['queue_position', 'executors', 'wait', 'redrive'],
};
