import type { CapturedDay } from './captured-day.ts';
import { playDays, recordedDay } from './played-days.ts';
import { describeModel, describeSlice } from './describe-day.ts';
import { drawDay } from './draw-day.ts';
import { measureDay, waitsOf } from './measure-day.ts';
import type { DaySummary, Outcome, Tried } from './outcome.ts';

export const summaryOf = (day: CapturedDay): DaySummary => {
  const measured = measureDay(day.header, recordedDay(day, new Map()));
  return {
    notes: describeSlice(day, measured),
    organisations: [...measured.waits]
      .map(([id, { runs }]) => [id, runs] as const)
      .toSorted(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)),
    gpus: [...measured.slots].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  };
};

/** Plays the day with its settings and with those that are tried. */
export const outcomeOf = (day: CapturedDay, { before, changes }: Tried): Outcome => {
  const { header } = day;
  const measured = playDays(day, before, changes).map((played) => measureDay(header, played));
  return {
    model: describeModel(measured),
    days: measured.map(({ title, runs, waits, slots, utilisation, meanFairness }) => ({
      title,
      all: waitsOf(runs),
      byOrganisation: waits,
      slots,
      utilisation,
      fairness: meanFairness,
    })),
    charts: drawDay(header, measured),
  };
};
