import { Type } from 'typebox';
import { Time, TimeOrDay } from '../fields.ts';

export const RunActivityQuery = Type.Object({
  since: Type.Optional({
    ...TimeOrDay,
    description: 'Where the first interval begins. An hour before `until` when it is left out.',
  }),
  until: Type.Optional({
    ...TimeOrDay,
    description: 'Where the last interval ends. Now when it is left out, or later.',
  }),
  step: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 31 * 86_400,
      description:
        'The length of an interval in seconds; there are 1,000 intervals at most. When it is left out, a minute, or as many as that needs.',
      examples: [60],
    }),
  ),
});

const numbers = (description: string): Type.TArray<Type.TInteger> =>
  Type.Array(Type.Integer({ minimum: 0 }), { description, examples: [[3, 0, 1]] });

export const RunActivity = Type.Object(
  {
    since: { ...Time, description: 'Where the first interval begins.' },
    until: {
      ...Time,
      description: 'Where the last interval ends. It may be later than now, by less than a step.',
    },
    step_s: Type.Integer({
      minimum: 1,
      description: 'The length of an interval in seconds.',
      examples: [60],
    }),
    times: Type.Array(Time, {
      description:
        'Where each interval begins. It ends where the next one begins, and that moment belongs to the next one.',
    }),
    queued: numbers('Runs that were created in the interval.'),
    started: numbers(
      'Runs that began to execute in the interval, in the first attempt that did. Further attempts do not count.',
    ),
    succeeded: numbers('Runs that ended in the interval as `success`.'),
    failed: numbers('Runs that ended in the interval as `failed`.'),
    timed_out: numbers('Runs that ended in the interval as `timeout`.'),
    cancelled: numbers('Runs that ended in the interval as `cancelled`.'),
    waiting: numbers(
      'At the end of the interval: runs that had not begun to execute and had not ended. Those that an executor prepares still wait here.',
    ),
    running: numbers(
      'At the end of the interval: runs that had begun to execute and had not ended. Those that wait for another attempt are among them.',
    ),
  },
  { title: 'RunActivity', description: 'What runs did, interval by interval.' },
);
