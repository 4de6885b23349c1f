import { Type, type Static } from 'typebox';
import { nullable, optional } from './fields/optional.ts';

const MAX_DAYS = 10_000;
const Days = Type.Integer({ minimum: 1, examples: [30] });

/** For how long one kind of thing is kept. */
export const KeptDays = Type.Object(
  {
    days: nullable({ ...Days, description: 'Days for which it is kept now. Null: without end.' }),
    chosen: nullable({
      ...Days,
      description: 'What the organisation chose. Null: as long as the installation keeps it.',
    }),
    least: nullable({
      ...Days,
      description: 'The fewest days that can be chosen. Null: none can be chosen.',
    }),
    most: nullable({ ...Days, description: 'The most days that can be chosen. Null: any number.' }),
  },
  { title: 'KeptDays', description: 'For how many days one kind of thing is kept.' },
);
export type KeptDays = Static<typeof KeptDays>;

export const Retention = Type.Object(
  { runs_days: KeptDays, outputs_days: KeptDays },
  {
    title: 'Retention',
    description:
      'For how long runs are kept (`runs_days`, from their creation) and their output files (`outputs_days`, from their end).',
  },
);
export type Retention = Static<typeof Retention>;

const AS_INSTALLED = 'Null: as long as the installation keeps it.';
const ChosenDays = (description: string): Type.TInteger =>
  Type.Integer({
    minimum: 1,
    maximum: MAX_DAYS,
    description,
    examples: [30],
  });

export const RetentionChange = Type.Object(
  {
    runs_days: optional(
      ChosenDays('Days from the creation of a run for which it is kept, with all that belongs to it.'),
      AS_INSTALLED,
    ),
    outputs_days: optional(
      ChosenDays('Days from the end of a run for which its output files are kept.'),
      AS_INSTALLED,
    ),
  },
  {
    title: 'RetentionChange',
    description: 'Omitted members stay unchanged.',
    examples: [{ runs_days: 30 }],
  },
);
export type RetentionChange = Static<typeof RetentionChange>;
