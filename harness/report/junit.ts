import type { RunResult } from './result.ts';

/** JUnit XML: one suite per scenario, one case per assertion; a scenario without assertions is one errored case. */
export function junitXml(run: RunResult): string {
  const suites = run.scenarios.map((scenario) => {
    const failures = scenario.assertions.filter((assertion) => !assertion.passed);
    const cases = scenario.assertions.map((assertion) => {
      const open = `    <testcase classname="${escapeXml(scenario.name)}" name="${escapeXml(assertion.name)}"`;
      if (assertion.passed) return `${open}/>`;
      const text = `expected ${assertion.expected}, observed ${assertion.observed}${assertion.evidence === undefined ? '' : `\n${assertion.evidence}`}`;
      return `${open}>\n      <failure message="${escapeXml(text.split('\n')[0] as string)}">${escapeXml(text)}</failure>\n    </testcase>`;
    });
    if (scenario.error !== undefined) {
      cases.push(
        `    <testcase classname="${escapeXml(scenario.name)}" name="scenario ran">\n      <error message="${escapeXml(scenario.error.split('\n')[0] as string)}">${escapeXml(scenario.error)}</error>\n    </testcase>`,
      );
    }
    if (scenario.result === 'skipped') {
      cases.push(
        `    <testcase classname="${escapeXml(scenario.name)}" name="scenario ran"><skipped/></testcase>`,
      );
    }
    const attributes = [
      `name="${escapeXml(scenario.name)}"`,
      `tests="${cases.length}"`,
      `failures="${failures.length}"`,
      `errors="${scenario.error === undefined ? 0 : 1}"`,
      `skipped="${scenario.result === 'skipped' ? 1 : 0}"`,
      `time="${(scenario.durationMs / 1000).toFixed(3)}"`,
    ];
    return [`  <testsuite ${attributes.join(' ')}>`, ...cases, '  </testsuite>'].join('\n');
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="svcnet ${escapeXml(run.run)}">`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

/** Control characters and the two that are none, U+FFFE and U+FFFF, are dropped: XML 1.0 cannot represent them. */
export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;')
    .split('')
    .filter(
      (character) => (character >= ' ' && character < '\uFFFE') || character === '\t' || character === '\r',
    )
    .join('');
}
