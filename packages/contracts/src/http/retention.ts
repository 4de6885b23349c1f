import { Type, type Static } from 'typebox';
import { nullable, optional } from './fields/optional.ts';

const MAX_DAYS = 10_000;
const Days = Type.Integer({ minimum: 1 });

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
  { title: 'KeptDays' },
);
export type KeptDays = Static<typeof KeptDays>;

export const Retention = Type.Object({ runs_days: KeptDays, outputs_days: KeptDays }, { title: 'Retention' });
export type Retention = Static<typeof Retention>;

const ChosenDays = (description: string): Type.TInteger =>
  Type.Integer({
    minimum: 1,
    maximum: MAX_DAYS,
    description: `${description} Null: as long as the installation keeps it.`,
  });

export const RetentionChange = Type.Object(
  {
    runs_days: optional(
      ChosenDays('Days from the creation of a run for which it is kept, with all that belongs to it.'),
    ),
    outputs_days: optional(ChosenDays('Days from the end of a run for which its output files are kept.')),
  },
  { title: 'RetentionChange', description: 'Omitted members stay unchanged.' },
);
export type RetentionChange = Static<typeof RetentionChange>;
