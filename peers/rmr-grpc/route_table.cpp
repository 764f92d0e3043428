#include "rmr-grpc/route_table.hpp"

#include <charconv>
#include <stdexcept>

namespace peers::rmr_grpc {

namespace {

std::uint64_t key(int mtype, int sub_id) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(sub_id)} << 32 |
           static_cast<std::uint32_t>(mtype);
}

std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view kBlanks = " \t";
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find_first_of(separators);
        parts.push_back(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

/// A comment begins with '#' at the start of a line or after a blank.
std::string_view without_comment(std::string_view line) noexcept {
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
            return line.substr(0, i);
        }
    }
    return line;
}

}  // namespace

class RouteTableParser {
  public:
    explicit RouteTableParser(Surroundings& surroundings) : surroundings_(surroundings) {}

    std::unique_ptr<RouteTable> parse(std::string_view text) {
        for (const std::string_view line : split(text, "\r\n")) {
            ++line_;
            const std::string_view record = trimmed(without_comment(line));
            if (!record.empty()) {
                take(split(record, "|"));
            }
        }
        if (!complete_) {
            refuse("there is no 'newrt|end': the table is not complete");
        }
        return std::move(table_);
    }

  private:
    using Fields = std::vector<std::string_view>;

    [[noreturn]] void refuse(const std::string& what) const {
        throw std::runtime_error("line " + std::to_string(line_) + ": " + what);
    }

    void take(const Fields& fields) {
        const std::string_view kind = fields[0];
        if (kind == "newrt") {
            take_table(fields);
        } else if (kind == "meid_map") {
            // Ownership is complete with the file; its begin and end say nothing more.
        } else if (kind == "mme_ar") {
            take_owner(fields);
        } else if (open_ && kind == "rte" && fields.size() >= 3) {
            take_route(fields[1], fields[2], fields.size() > 3 ? number(fields[3]) : -1);
        } else if (open_ && kind == "mse" && fields.size() >= 4) {
            take_route(fields[1], fields[3], number(fields[2]));
        } else {
            refuse("'" + std::string(kind) +
                   "' is not expected here: a static table holds newrt, rte, mse, meid_map and "
                   "mme_ar, routes between newrt|start and newrt|end");
        }
    }

    void take_table(const Fields& fields) {
        if (fields.size() < 2) {
            refuse("newrt needs 'start' or 'end'");
        }
        if (fields[1] != "end") {
            table_->routes_.clear();
            routes_ = 0;
            open_ = true;
            complete_ = false;
            return;
        }
        if (!open_) {
            refuse("newrt|end without newrt|start");
        }
        if (fields.size() > 2 && !fields[2].empty() && number(fields[2]) != routes_) {
            refuse("newrt|end counts " + std::string(fields[2]) + " records, there are " +
                   std::to_string(routes_));
        }
        open_ = false;
        complete_ = true;
    }

    void take_owner(const Fields& fields) {
        if (fields.size() < 3) {
            refuse("mme_ar needs an owner and its MEIDs");
        }
        for (const std::string_view meid : split(fields[2], " \t")) {
            if (!meid.empty()) {
                table_->owners_[std::string(meid)] = &surroundings_.endpoint(fields[1]);
            }
        }
    }

    void take_route(std::string_view types, std::string_view groups, int sub_id) {
        ++routes_;
        const Fields senders = split(types, ",");
        bool ours = senders.size() == 1;
        for (std::size_t i = 1; i < senders.size(); ++i) {
            ours = ours || senders[i].empty() || surroundings_.is_us(senders[i]);
        }
        if (!ours) {
            return;
        }
        Route route;
        if (groups == "%meid") {
            route.by_meid = true;
        } else {
            take_groups(groups, route);
        }
        if (route.by_meid || !route.groups.empty()) {
            table_->routes_.insert_or_assign(key(number(senders[0]), sub_id), std::move(route));
        }
    }

    void take_groups(std::string_view groups, Route& route) {
        for (const std::string_view names : split(groups, ";")) {
            auto group = std::make_unique<Group>();
            for (const std::string_view name : split(names, ",")) {
                // A message never goes back to where it was sent.
                if (!name.empty() && !surroundings_.is_us(name)) {
                    group->endpoints.push_back(&surroundings_.endpoint(name));
                }
            }
            if (!group->endpoints.empty()) {
                route.groups.push_back(std::move(group));
            }
        }
    }

    [[nodiscard]] int number(std::string_view text) const {
        int value = 0;
        const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (fault != std::errc{} || end != text.data() + text.size()) {
            refuse("'" + std::string(text) + "' is not a number");
        }
        return value;
    }

    Surroundings& surroundings_;
    std::unique_ptr<RouteTable> table_ = std::make_unique<RouteTable>();
    int line_ = 0;
    int routes_ = 0;
    bool open_ = false;
    bool complete_ = false;
};

std::unique_ptr<RouteTable> RouteTable::parse(std::string_view text, Surroundings& surroundings) {
    return RouteTableParser(surroundings).parse(text);
}

const Route* RouteTable::find(int mtype, int sub_id) const noexcept {
    auto found = routes_.find(key(mtype, sub_id));
    if (found == routes_.end() && sub_id != -1) {
        found = routes_.find(key(mtype, -1));
    }
    return found == routes_.end() ? nullptr : &found->second;
}

Endpoint* RouteTable::owner(const std::string& meid) const noexcept {
    const auto found = owners_.find(meid);
    return found == owners_.end() ? nullptr : found->second;
}

}  // namespace peers::rmr_grpc
