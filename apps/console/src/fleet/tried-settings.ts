import type { Changes, FairShareSettings } from '@runledger/simulate/what-if/changes';
import type { DaySummary, Tried } from '@runledger/simulate/what-if/outcome';

/** The names of the fields of the form. */
export const fieldOf = {
  weightBefore: (organisation: string) => `weight-before ${organisation}`,
  limitBefore: (organisation: string) => `limit-before ${organisation}`,
  weight: (organisation: string) => `weight ${organisation}`,
  limit: (organisation: string) => `limit ${organisation}`,
  slots: (gpu: string) => `slots ${gpu}`,
} as const;

/** What a person entered. An empty field changes nothing. */
export const triedIn = (
  { organisations, gpus }: Pick<DaySummary, 'organisations' | 'gpus'>,
  textOf: (field: string) => string,
): Tried => {
  const numbers = (
    names: readonly (readonly [string, number])[],
    field: (name: string) => string,
  ): ReadonlyMap<string, number> =>
    new Map(
      names.flatMap(([name]) => {
        const text = textOf(field(name)).trim();
        return text === '' ? [] : [[name, Number(text)] as const];
      }),
    );
  const before: FairShareSettings = {
    weights: numbers(organisations, fieldOf.weightBefore),
    limits: numbers(organisations, fieldOf.limitBefore),
  };
  const changes: Changes = {
    weights: numbers(organisations, fieldOf.weight),
    limits: numbers(organisations, fieldOf.limit),
    gpus: numbers(gpus, fieldOf.slots),
  };
  const isChanged = Object.values(changes).some(({ size }) => size > 0);
  return { before, changes: isChanged ? changes : undefined };
};
