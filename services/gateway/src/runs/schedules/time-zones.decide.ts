import { nearestName } from '../../door/unknown-names.ts';

/**
 * Why a text is no name of an IANA time zone, and which one is probably meant; undefined for those that are, with all aliases. ICU, which
 * the runtime asks, also knows abbreviations of its own, with a meaning that few expect: BST is Dhaka there, and AST is Alaska.
 */
export const wrongZone = (name: string): string | undefined =>
  isZone(name) ? undefined : `${JSON.stringify(name)} is no IANA time zone: ${instead(name)}`;

const ZONE_NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

const isZone = (name: string): boolean => {
  if (!ZONE_NAME.test(name)) return false;
  if (!name.includes('/') && !WITHOUT_REGION.has(name.toUpperCase())) return false;
  if (OF_ICU_ONLY.test(name)) return false;
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
};

/** IANA's names without a region, in `etcetera` and `backward` of its database. It adds no more of them. */
const WITHOUT_REGION: ReadonlySet<string> = new Set(
  `UTC GMT UCT Universal Zulu Greenwich GMT0 GMT+0 GMT-0 EST MST HST EST5EDT CST6CDT MST7MDT PST8PDT WET CET MET EET
   Cuba Egypt Eire GB GB-Eire Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya Navajo NZ NZ-CHAT Poland Portugal
   PRC ROC ROK Singapore Turkey W-SU`
    .toUpperCase()
    .split(/\s+/),
);

/** With a region, but not in IANA's database, or not any more. */
const OF_ICU_ONLY = /^(?:SystemV\/.*|Canada\/East-Saskatchewan|US\/Pacific-New)$/i;

const instead = (name: string): string => {
  const likely = LIKELY.get(name.trim().toUpperCase());
  if (likely !== undefined)
    return `an abbreviation can mean several. Name a region and a city, such as ${OR.format(likely)}`;
  const offset = OFFSET.exec(name.trim());
  if (offset)
    return `an offset does not say when clocks change. Name a region and a city, such as Europe/Berlin${fixedOffset(offset)}`;
  const meant = likeName(name);
  return meant === undefined
    ? 'name a region and a city, such as Europe/Berlin, or UTC'
    : `did you mean ${meant}?`;
};

const OR = new Intl.ListFormat('en-GB', { type: 'disjunction' });

const OFFSET = /^(?:UTC|GMT)? ?([+-])(\d{1,2})(?::?(\d\d))?$/i;

/** POSIX counts them the other way round. */
const fixedOffset = ([, sign, hours, minutes = '00']: RegExpExecArray): string => {
  const count = Number(hours);
  const known = `Etc/GMT${sign === '+' ? '-' : '+'}${count}`;
  if (Number(minutes) !== 0 || !isZone(known)) return '';
  return count === 0
    ? ', or UTC'
    : `, or ${known}, which is always UTC${sign}${count}: its sign is the other way round`;
};

const likeName = (name: string): string | undefined => {
  const given = name.trim().replaceAll(/\s+/g, '_');
  const known = Intl.supportedValuesOf('timeZone');
  const cities = new Map(known.map((zone) => [zone.slice(zone.lastIndexOf('/') + 1), zone]));
  const city = nearestName(given, [...cities.keys()]);
  return nearestName(given, known) ?? (city === undefined ? undefined : cities.get(city));
};

/** What people mean by an abbreviation, the most usual first. The list is not complete. */
const LIKELY: ReadonlyMap<string, readonly string[]> = new Map(
  `ACDT Australia/Adelaide; ACST Australia/Adelaide Australia/Darwin;
   ACT Australia/Darwin America/Rio_Branco; ADT America/Halifax; AEDT Australia/Sydney;
   AEST Australia/Sydney Australia/Brisbane; AET Australia/Sydney; AGT America/Argentina/Buenos_Aires;
   AKDT America/Anchorage; AKST America/Anchorage; AMT America/Manaus Asia/Yerevan;
   ART America/Argentina/Buenos_Aires Africa/Cairo; AST America/Halifax Asia/Riyadh America/Anchorage;
   AWST Australia/Perth; BET America/Sao_Paulo; BRT America/Sao_Paulo; BST Europe/London Asia/Dhaka;
   CAT Africa/Maputo; CDT America/Chicago America/Havana; CEST Europe/Berlin Europe/Paris;
   CLT America/Santiago; CNT America/St_Johns; COT America/Bogota;
   CST America/Chicago Asia/Shanghai America/Havana; CT America/Chicago; CTT Asia/Shanghai;
   EAT Africa/Nairobi; ECT America/Guayaquil Europe/Paris; EDT America/New_York;
   EEST Europe/Athens Europe/Helsinki; ET America/New_York; GST Asia/Dubai; HKT Asia/Hong_Kong;
   ICT Asia/Bangkok; IDT Asia/Jerusalem; IET America/Indiana/Indianapolis; IRST Asia/Tehran;
   IST Asia/Kolkata Europe/Dublin Asia/Jerusalem; JST Asia/Tokyo; KST Asia/Seoul; MDT America/Denver;
   MESZ Europe/Berlin; MEZ Europe/Berlin; MIT Pacific/Apia; MSK Europe/Moscow; MT America/Denver;
   NDT America/St_Johns; NET Asia/Yerevan; NPT Asia/Kathmandu; NST America/St_Johns Pacific/Auckland;
   NZDT Pacific/Auckland; NZST Pacific/Auckland; PDT America/Los_Angeles; PET America/Lima;
   PHT Asia/Manila; PKT Asia/Karachi; PLT Asia/Karachi; PNT America/Phoenix; PRT America/Puerto_Rico;
   PST America/Los_Angeles Asia/Manila; PT America/Los_Angeles; SAST Africa/Johannesburg;
   SGT Asia/Singapore; SST Pacific/Pago_Pago Pacific/Guadalcanal; TRT Europe/Istanbul; VET America/Caracas;
   VST Asia/Ho_Chi_Minh; WAT Africa/Lagos; WEST Europe/Lisbon; WIB Asia/Jakarta`
    .split(/;\s+/)
    .map((entry) => entry.split(' '))
    .map(([abbreviation = '', ...zones]) => [abbreviation, zones] as const),
);
