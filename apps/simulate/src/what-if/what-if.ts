import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readSliceFile } from '@runledger/event-log/slices/read-slice-file';
import { isOrgId } from '@runledger/contracts/ids';
import { MAX_WEIGHT, MIN_WEIGHT } from '@runledger/contracts/run-options';
import { foldDay } from './captured-day.ts';
import { describeDay } from './describe-day.ts';
import { drawDay } from './draw-day.ts';
import { measureDay } from './measure-day.ts';
import { playDays } from './played-days.ts';
import { MAX_SLOTS, type Changes, type FairShareSettings } from './changes.ts';

/** Compares a captured day with what the simulator makes of it, with the settings of that day and with others. @throws {InvalidSlice} */
export const whatIf = async (
  { day: file, before, changes, charts }: WhatIfOptions,
  print: (line: string) => void,
): Promise<void> => {
  const day = await foldDay(readSliceFile(file));
  const { header } = day;
  const measured = playDays(day, before, changes).map((played) => measureDay(header, played));
  for (const line of describeDay(day, measured, { before, changes })) print(line);
  if (charts === undefined) return;
  await mkdir(charts, { recursive: true });
  for (const { file: name, svg } of drawDay(header, measured)) {
    const path = join(charts, name);
    await writeFile(path, svg);
    print(`Drew ${path}`);
  }
};

interface WhatIfOptions {
  /** The file of the slice. */
  readonly day: string;
  /** What the schedulers of that day had. */
  readonly before: FairShareSettings;
  /** Undefined without any. */
  readonly changes: Changes | undefined;
  /** The folder for the charts. */
  readonly charts: string | undefined;
}

export const WHAT_IF_USAGE = `npm run simulate -- --day FILE [--weight ORG:W …] [--limit ORG:N …] [--gpus MODEL=N,…] [--charts FOLDER]
  --day            a day that runledger capture has written: it is compared with what the simulator makes of it
  --weight, --limit, --gpus
                   what would differ: weights and limits of organisations by id, and how many slots a GPU model has
  --day-weight, --day-limit
                   what the schedulers of that day had in RUNLEDGER_ORG_WEIGHTS and RUNLEDGER_ORG_LIMITS: the log does not say it
  --charts         draws waits, slots, utilisation and fairness over the day as SVG`;

/** @throws RangeError or TypeError, in words for people */
export const readWhatIf = (args: readonly string[]): WhatIfOptions => {
  const many = { type: 'string', multiple: true, default: [] as string[] } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      day: { type: 'string' },
      weight: many,
      limit: many,
      gpus: many,
      'day-weight': many,
      'day-limit': many,
      charts: { type: 'string' },
    },
  });
  const { day, charts } = values;
  if (day === undefined || day === '') throw new RangeError('--day needs the file of a captured day.');
  const changes = {
    weights: settings('--weight', values.weight, weightOf),
    limits: settings('--limit', values.limit, limitOf),
    gpus: gpusOf(values.gpus),
  };
  const isChanged = Object.values(changes).some(({ size }) => size > 0);
  return {
    day,
    before: {
      weights: settings('--day-weight', values['day-weight'], weightOf),
      limits: settings('--day-limit', values['day-limit'], limitOf),
    },
    changes: isChanged ? changes : undefined,
    charts,
  };
};

const settings = (
  option: string,
  texts: readonly string[],
  valueOf: (option: string, text: string) => number,
): ReadonlyMap<string, number> =>
  new Map(
    texts.map((text) => {
      const [organisation = '', value = ''] = text.split(':');
      if (!isOrgId(organisation))
        throw new RangeError(`${option} ${text} does not begin with the id of an organisation and a colon.`);
      return [organisation, valueOf(option, value)];
    }),
  );

const weightOf = (option: string, text: string): number => {
  const weight = Number(text);
  if (text.trim() !== '' && weight >= MIN_WEIGHT && weight <= MAX_WEIGHT) return weight;
  throw new RangeError(`${option} has the weight ${text}. It must be from ${MIN_WEIGHT} to ${MAX_WEIGHT}.`);
};

const limitOf = (option: string, text: string): number => wholeNumber(`${option} has the limit`, text, 1);

const gpusOf = (texts: readonly string[]): ReadonlyMap<string, number> =>
  new Map(
    texts
      .flatMap((text) => text.split(','))
      .map((text) => {
        const [gpu = '', slots = ''] = text.split('=');
        if (gpu === '') throw new RangeError(`--gpus ${text} names no GPU model. Write it as L4=40.`);
        return [gpu.toUpperCase(), wholeNumber(`--gpus ${gpu} has`, slots, 0)];
      }),
  );

const wholeNumber = (what: string, text: string, least: number): number => {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (number >= least && number <= MAX_SLOTS) return number;
  throw new RangeError(`${what} ${text}. It must be a whole number from ${least} to ${MAX_SLOTS}.`);
};
