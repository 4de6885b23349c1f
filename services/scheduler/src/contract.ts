import type { ServiceContract } from '@runledger/contracts/service-contract';

export const contract: ServiceContract = {
  service: 'scheduler',
  role: 'scheduler',
  writes: {
    runs: ['RunAssigned', 'RunRequeued', 'RunTimedOut', 'RunGivenUp', 'RunCancelEnforced'],
    webhooks: [],
    fleet: ['ExecutorLost'],
    activity: false,
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
      // Its own, as they come back: a decision holds once it is read in the log.
      'RunAssigned',
      'RunRequeued',
      'RunTimedOut',
      'RunGivenUp',
      'RunCancelEnforced',
    ],
    webhooks: [],
    fleet: ['ExecutorRegistered', 'ExecutorDraining', 'ExecutorLeft', 'ExecutorLost'],
    activity: true,
  },
};
