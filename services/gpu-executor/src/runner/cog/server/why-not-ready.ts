import type { HealthAnswer } from './cog-api.ts';

/** Whether the server takes a prediction, will never do so, or has to be waited for. */
export type Readiness = 'ready' | 'never' | 'wait';

export const readinessOf = (answer: HealthAnswer): Readiness => {
  if (answer.kind === 'unreachable' || answer.health === null) return 'wait';
  switch (answer.health.kind) {
    case 'ready':
      return 'ready';
    case 'starting':
    case 'busy':
      return 'wait';
    case 'setup_failed':
    case 'broken':
      return 'never';
  }
};

/** What people read about a server that takes no prediction, after the name of its model. */
export const whyNotReady = (model: string, answer: HealthAnswer): string => {
  const server = `The server of the Cog model ${model}`;
  if (answer.kind === 'unreachable') return `${server} does not answer (${answer.why}).`;
  if (answer.health === null) return `What listens at the url of the Cog model ${model} is no Cog server.`;
  switch (answer.health.kind) {
    case 'setup_failed':
      return `The setup of the Cog model ${model} failed. ${lastLines(answer.health.logs)}`;
    case 'broken':
      return `${server} executes no predictions any more (${answer.health.status}): start it again.`;
    case 'busy':
      return `${server} executes predictions of somebody else, or one that does not heed its cancel.`;
    case 'starting':
      return `The setup of the Cog model ${model} is not over.`;
    case 'ready':
      return `${server} was not ready.`;
  }
};

const lastLines = (logs: string): string =>
  logs === '' ? 'It printed nothing.' : `It says at the end:\n${logs}`;
