import { Format } from 'typebox/format';
import { UUID_PATTERN } from '../ids.ts';

// Every event has some UUIDs and a time: the formats of typebox, which take most of the time of its check, said in other words.

const UUID = new RegExp(`^${UUID_PATTERN}$`, 'i');
Format.Set('uuid', (text) => UUID.test(text));

/** What services write. Days that not every month has, leap seconds and offsets are for the format of typebox. */
const USUAL_TIME =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z$/;
const isDateTime = Format.Get('date-time');
if (!isDateTime) throw new Error('typebox has no format "date-time".');
Format.Set('date-time', (text) => USUAL_TIME.test(text) || isDateTime(text));
