import { Type, type Static } from 'typebox';
import { RunConditions } from './runs.ts';

export const RunCountQuery = Type.Object(RunConditions);

const count = (description: string): Type.TInteger =>
  Type.Integer({ minimum: 0, description, examples: [3] });

export const RunCounts = Type.Object(
  {
    counts: Type.Object(
      {
        queued: count('Runs that wait for a slot.'),
        started: count('Runs that an executor prepares.'),
        running: count('Runs whose workflow executes.'),
        uploading: count('Runs whose output files are being stored.'),
        success: count('Runs that ended without an error.'),
        failed: count('Runs that ended with an error.'),
        timeout: count('Runs that ended at a time limit.'),
        cancelled: count('Runs that were cancelled.'),
      },
      {
        title: 'RunCountsByStatus',
        description:
          'Of each status the runs that match every filter; 0 for a status that `status` leaves out.',
      },
    ),
    total: count('The sum of `counts`.'),
    complete: Type.Boolean({
      description:
        'Whether all runs were looked at. If false, `counts` and `total` are of the newest runs, and there may be more.',
      examples: [true],
    }),
  },
  { title: 'RunCounts', description: 'How many runs have each status.' },
);
export type RunCounts = Static<typeof RunCounts>;
