import type { ServerState } from '../../model-server/model-server.ts';
import type { HealthAnswer } from './cog-api.ts';

/** What the server of a model says about itself, by its health. */
export const cogState = (model: string, answer: HealthAnswer): ServerState => {
  const server = `The server of the Cog model ${model}`;
  if (answer.kind === 'unreachable')
    return { kind: 'loading', why: `${server} does not answer (${answer.why}).` };
  if (answer.health === null)
    return { kind: 'loading', why: `What listens at the url of the Cog model ${model} is no Cog server.` };
  switch (answer.health.kind) {
    case 'ready':
      return { kind: 'ready' };
    case 'starting':
      return { kind: 'loading', why: `The setup of the Cog model ${model} is not over.` };
    case 'busy':
      return {
        kind: 'busy',
        why: `${server} executes predictions of somebody else, or one that does not heed its cancel.`,
      };
    case 'setup_failed':
      return {
        kind: 'never',
        why: `The setup of the Cog model ${model} failed. ${lastLines(answer.health.logs)}`,
      };
    case 'broken':
      return {
        kind: 'never',
        why: `${server} executes no predictions any more (${answer.health.status}): start it again.`,
      };
  }
};

const lastLines = (logs: string): string =>
  logs === '' ? 'It printed nothing.' : `It says at the end:\n${logs}`;
