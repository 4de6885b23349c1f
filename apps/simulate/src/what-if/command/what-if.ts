import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readSliceFile } from '@runledger/event-log/slices/read-slice-file';
import { foldDay } from '../captured-day.ts';
import { describeDay } from '../outcome/describe-day.ts';
import { drawDay } from '../outcome/draw-day.ts';
import { measureDay } from '../outcome/measure-day.ts';
import { playDays } from '../played-days.ts';
import type { WhatIfOptions } from './what-if-options.ts';

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
