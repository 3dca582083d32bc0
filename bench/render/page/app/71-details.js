/* Draws what a row of the list opens to: the service, its rounds, and each round's command line and raw output. */

function facts(entries) {
  const given = entries.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make(
    "dl",
    { class: "facts" },
    ...given.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]),
  );
}

/** What a row opens to: facts of the service, a table of the rounds, and the details of each round. */
function cellDetails(cell) {
  const service = DATA.services[cell.service] ?? {};
  const checks = service.checks;
  const rounds = cell.measurements.map((index) => MEASUREMENTS[index]);
  const columns = [
    ["round"],
    ["requests/s", true],
    ["p50", true],
    ["p99", true],
    ["CPU/request", true],
    ["memory under load", true],
    ["steal", true],
    ["foreign CPU", true],
    ["pressure", true],
    ["state"],
  ];
  const rows = rounds.map((one) => [
    one.window === null ? String(one.round) : `${one.round}, window ${one.window}`,
    number(one.goodput),
    milliseconds(one.p50_s),
    milliseconds(one.p99_s),
    milliseconds(one.cpu_s),
    megabytes(one.memory_bytes),
    share(one.steal),
    share(one.foreign),
    share(one.pressure),
    one.valid ? "valid" : make("span", { class: "invalid" }, one.causes.join("; ") || "not valid"),
  ]);
  return [
    make("h3", {}, cell.id),
    facts([
      ["settings", cell.settings],
      ["start command", service.command && make("code", {}, service.command)],
      ["elsewhere, in the app's folder", service.elsewhere && make("code", {}, service.elsewhere)],
      ["requests at once", service.waits],
      ["own default", service.own_default],
      ["app", service.entry ?? service.app],
      ["versions", [...(service.versions ?? []), service.python_build ?? service.missing?.python_build].join(", ")],
      ["memory", memoryText(cell, service)],
      ["changed here", [service.adds, service.sets].filter(Boolean).join("; ")],
      ["known defect", service.stall && `delayed TCP acknowledgements: ${service.stall}`],
      ["production", service.development && `no, as its documentation says: ${service.development}`],
      ["base", service.base_made ?? service.missing?.base_label],
      ["image", service.image ?? service.missing?.image_id],
      [
        "verification",
        checks
          ? `${checks.passed} checks passed, ${checks.failed.length} failed${checks.skipped ? `, ${checks.skipped} skipped` : ""}`
          : "not saved",
      ],
      ["failed checks", checks?.failed.join("; ")],
      ["not measured because", service.failure],
    ]),
    ...sourcesOf(service),
    service.packages?.length
      ? make(
          "details",
          {},
          make("summary", {}, plural(service.packages.length, "package")),
          make("p", {}, service.packages.join(", ")),
        )
      : null,
    tableOf(`Rounds of ${cell.id}`, columns, rows),
    ...rounds.map(roundDetails),
  ].filter(Boolean);
}

function memoryText(cell, { idle_bytes: idle }) {
  const parts = [
    [idle, "idle"],
    [cell.memory_bytes, "at most under this load"],
  ];
  return parts
    .filter(([bytes]) => bytes)
    .map(([bytes, when]) => `${megabytes(bytes)} ${when}`)
    .join(", ");
}

/** The start script (with reasons for its flags) and the app of a service: as measured, or how to find them in git. */
function sourcesOf({ start, app }) {
  const folder = app?.replace(/[^/]*$/, "");
  return [
    ["Start script, and why its flags", start, (path) => path === start],
    ["Source of its app", app, (path) => Boolean(folder) && path.startsWith(folder)],
  ]
    .filter(([, path]) => path)
    .map(([title, path, own]) => {
      const inside = make("div");
      const details = make("details", {}, make("summary", {}, title), inside);
      details.addEventListener("toggle", async () => {
        if (!details.open || inside.childElementCount) return;
        const files = Object.entries((await loadSources()) ?? {}).filter(([name]) => own(name));
        const shown = files.length ? files : [[path, `git show ${DATA.commit || "COMMIT"}:${path}`]];
        inside.replaceChildren(
          ...shown.flatMap(([name, text]) => [make("p", { class: "note" }, name), make("pre", { tabindex: 0 }, text)]),
        );
      });
      return details;
    });
}

function roundDetails(one) {
  const inside = make("div");
  const details = make(
    "details",
    { class: "round" },
    make(
      "summary",
      {},
      `Round ${one.round}${one.window === null ? "" : `, window ${one.window}`}: command line, metrics and raw output`,
    ),
    inside,
  );
  details.addEventListener("toggle", async () => {
    if (!details.open || inside.childElementCount) return;
    try {
      inside.replaceChildren(...measurementDetails(one, await detailsOf(one.index)));
    } catch (problem) {
      inside.replaceChildren(
        make(
          "p",
          { class: "invalid" },
          `This browser cannot decompress the details (${problem.message}). They are also in the run's records.jsonl.`,
        ),
      );
    }
  });
  return details;
}

function measurementDetails(one, record) {
  const plain = (value) => {
    if (value === null || value === undefined) return null;
    if (typeof value === "number") return Number.isInteger(value) ? value.toLocaleString("en-US") : number(value);
    if (typeof value !== "object") return String(value);
    const parts = Object.entries(value).filter(([, part]) => part !== null && part !== NOTHING);
    return parts
      .map(([name, part]) => `${name} ${part && typeof part === "object" ? JSON.stringify(part) : plain(part)}`)
      .join(", ");
  };
  const latency = Object.entries(record.latency_s ?? {})
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${milliseconds(value)}`);
  const missing = Object.entries(record.nulls ?? {}).map(([name, reason]) => `${name}: ${reason}`);
  return [
    one.causes.length ? make("p", { class: "invalid" }, one.causes.join("; ")) : null,
    make("h4", {}, "Command line"),
    make(
      "pre",
      { tabindex: 0 },
      (record.command ? record.command.map(quoted).join(" ") : (record.nulls?.command ?? "unknown")) +
        (record.stdin ? `\n\nstdin:\n${record.stdin}` : ""),
    ),
    facts([
      ["measurement", `${record.id}, ${record.outcome}`],
      ["tool", plain(record.tool_version)],
      ["exit status", plain(record.exit_status)],
      ["image", plain(record.image_id)],
      [
        "requests",
        `${plain(record.requests) ?? NOTHING} completed, ${plain(record.attempts) ?? NOTHING} started, ${plain(record.successes) ?? NOTHING} successful, in ${plain(record.duration_s) ?? NOTHING} s`,
      ],
      ["errors", plain(record.errors) || "none reported by the tool"],
      ["latency", latency.join(", ")],
      [
        "CPU seconds",
        plain({ server: record.server_cpu_s, database: record.database_cpu_s, "load generator": record.loadgen_cpu_s }),
      ],
      ["CPU seconds by process", record.process_cpu_s?.map(number).join(", ")],
      ["throttled, s", plain(record.throttled_s)],
      [
        "load generator",
        plain({ busy: share(record.loadgen_busy_ratio), "waiting for a CPU": share(record.loadgen_wait_ratio) }),
      ],
      ["send lag, s", plain(record.lag_s)],
      ["server limits", plain(record.server_limits)],
      ["load generator limits", plain(record.loadgen_limits)],
      ["packages", record.packages_file],
      ["raw file", record.raw_file],
      ["SHA-256 of the raw file", record.raw_sha256],
    ]),
    missing.length
      ? make(
          "details",
          {},
          make("summary", {}, `${plural(missing.length, "missing value")}, with reasons`),
          make("ul", {}, ...missing.map((text) => make("li", {}, text))),
        )
      : null,
    make("h4", {}, "Raw output"),
    CELLS[one.cell].mode === "turns" ? make("p", { class: "note" }, said("stopped")) : null,
    make("pre", { class: "raw", tabindex: 0 }, record.raw ?? "No output was saved."),
  ].filter(Boolean);
}

const quoted = (argument) => (/^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`);
