import type { ServiceContract } from '@runledger/contracts/access/service-contract';

export const contract: ServiceContract = {
  service: 'gpu-executor',
  role: 'executor',
  writes: {
    runs: ['RunStarted', 'RunUploading', 'RunSucceeded', 'RunFailed', 'RunCancelled'],
    webhooks: [],
    fleet: ['ExecutorRegistered', 'ExecutorDraining', 'ExecutorLeft'],
    activity: true,
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
      // Its own, as they come back: they stand between the others.
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
  follows: [],
  watchesProgress: false,
  buckets: {},
  objects: [],
  leases: [],
  shares: false,
  beats: true,
  timers: false,
  deliveries: 'nothing',
  parks: [{ stream: 'RUNS', as: 'executor-<name>' }],
  asks: [],
  answers: ['redrive'],
};
