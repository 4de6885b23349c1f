import { describe, expect, it } from 'vitest';
import { redriverOf, redriveSubject } from '../../src/requests/operator-requests.ts';

describe('the service that handles a dead letter again', () => {
  it.each([
    ['scheduler', 'request.scheduler.redrive'],
    ['projection', 'request.gateway.redrive'],
    ['executor-box', 'request.executor.box.redrive'],
    ['executor-box-7', 'request.executor.box-7.redrive'],
  ])('of consumer %s gets its request at %s', (consumer, subject) => {
    const who = redriverOf(consumer);
    expect(who && redriveSubject(who)).toBe(subject);
  });

  it.each(['', 'stranger', 'executor-', 'executor-box.>', 'executor-*'])(
    'does not exist for consumer "%s"',
    (consumer) => expect(redriverOf(consumer)).toBeUndefined(),
  );
});
