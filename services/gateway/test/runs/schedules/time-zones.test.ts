import { describe, expect, it } from 'vitest';
import { wrongZone } from '../../../src/runs/schedules/time-zones.decide.ts';

/** What ICU knows beside IANA's names. */
const OF_ICU = `ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT IET IST JST MIT NET NST PLT PNT PRT PST SST VST`;

describe('a time zone', () => {
  it('may be each that the runtime lists', () =>
    expect(Intl.supportedValuesOf('timeZone').filter((zone) => wrongZone(zone) !== undefined)).toEqual([]));

  it.each([
    'UTC',
    'America/Argentina/Buenos_Aires',
    'Asia/Calcutta',
    'Asia/Kolkata',
    'Europe/Kiev',
    'Europe/Kyiv',
    'US/Pacific',
    'Etc/GMT+5',
    'Etc/UTC',
    'GMT',
    'EST5EDT',
    'Japan',
    'W-SU',
    'europe/berlin',
  ])('may be %s, a name or an alias of IANA', (zone) => expect(wrongZone(zone)).toBeUndefined());

  it.each(OF_ICU.split(' '))('is not %s, and the message has zones that may be', (zone) => {
    const named = wrongZone(zone)?.match(/[A-Z][A-Za-z]+\/[A-Za-z_/]+/g) ?? [];
    expect(named).not.toEqual([]);
    expect(named.map(wrongZone)).toEqual(named.map(() => undefined));
  });

  it.each([
    ['BST', 'such as Europe/London or Asia/Dhaka'],
    ['AST', 'America/Halifax, Asia/Riyadh or America/Anchorage'],
    ['IST', 'Asia/Kolkata, Europe/Dublin or Asia/Jerusalem'],
    ['ECT', 'America/Guayaquil or Europe/Paris'],
    ['cest', 'Europe/Berlin or Europe/Paris'],
    ['+02:00', 'Etc/GMT-2, which is always UTC+2'],
    ['UTC-5', 'Etc/GMT+5, which is always UTC-5'],
    ['+05:30', 'such as Europe/Berlin'],
    ['Europe/Berln', 'did you mean Europe/Berlin?'],
    ['Europe/Berlin ', 'did you mean Europe/Berlin?'],
    ['New York', 'did you mean America/New_York?'],
    ['', 'name a region and a city'],
    ['local', 'name a region and a city'],
    ['Mars/Phobos', 'name a region and a city'],
    ['SystemV/AST4', 'name a region and a city'],
    ['Etc/Unknown', 'no IANA time zone'],
    ['Canada/East-Saskatchewan', 'no IANA time zone'],
  ])('is not "%s": %s', (zone, why) => expect(wrongZone(zone)).toContain(why));
});
