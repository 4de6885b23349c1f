import { describe, expect, it } from 'vitest';
import { readQueue, readQueuePosition } from '../../../src/runners/comfyui/prompt-state.decide.ts';
import { recordedCases, recordedText, VERSIONS } from './recordings/recorded-cases.ts';
import { recordedExchanges } from './recordings/recorded-prompts.ts';

const queue = (running: string[], pending: string[]): string =>
  JSON.stringify({
    queue_running: running.map((id) => [1, id, {}]),
    queue_pending: pending.map((id) => [2, id, {}]),
  });

describe('the place of a prompt in the queue', () => {
  it.each([
    ['running', queue(['p'], ['q'])],
    ['behind', queue(['q'], ['p'])],
    ['pending', queue([], ['p'])],
    ['absent', queue(['q'], [])],
    ['unreadable', 'Bad Gateway'],
    ['unreadable', '{}'],
  ])('is %s', (place, text) => {
    expect(readQueuePosition(text, 'p')).toBe(place);
  });

  it.each(VERSIONS)('can be read in every answer that was recorded of %s', (version) => {
    const answers = recordedCases(version)
      .flatMap((recorded) => recordedExchanges(recorded))
      .filter(
        ({ request, response }) =>
          request.method === 'GET' && request.path === '/queue' && response.status === 200,
      );
    expect(answers.length).toBeGreaterThan(5);
    expect(answers.map(({ response }) => readQueuePosition(recordedText(response), 'nobody'))).not.toContain(
      'unreadable',
    );
    const clients = answers.flatMap(({ response }) => readQueue(recordedText(response)));
    expect(clients.map(({ client_id }) => client_id)).toContain('client-a');
  });
});
